#pragma once

// What turning those knobs means that concern the threads of the host: how they wait, what they
// take, when they register memory.

#include <optional>

#include "scenarios/what_if.h"

namespace gradhaul {

// Nothing: the knob is another.
std::optional<WhatIf> thread_what_if(Knob knob, const Scenario& scenario);

}  // namespace gradhaul

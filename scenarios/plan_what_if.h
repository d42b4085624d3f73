#pragma once

// What turning those knobs means that stand for another plan: another algorithm, another protocol,
// slices, more queue pairs.

#include <optional>

#include "scenarios/what_if.h"

namespace gradhaul {

// Nothing: the knob is another.
std::optional<WhatIf> plan_what_if(Knob knob, const Scenario& scenario);

}  // namespace gradhaul

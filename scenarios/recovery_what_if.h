#pragma once

// Knobs of losses and of packets out of order: of what the network does, and of what NICs make of
// it.

#include <optional>

#include "scenarios/what_if.h"

namespace gradhaul {

// Nothing: the knob is another.
std::optional<WhatIf> recovery_what_if(Knob knob, const Scenario& scenario);

}  // namespace gradhaul

#pragma once

// Networks that may lose packets: by what a scenario's keys make of each other, and what goes with
// that.

#include "scenarios/mapping_reader.h"
#include "scenarios/scenario.h"
#include "scenarios/what_if.h"

namespace gradhaul {

// By which priority of Ethernet the traffic goes. The cluster and the plan have been read without a
// mistake.
void choose_priority(Scenario& scenario);

// Of jobs, which all go by the scenario's. `reader`: of the scenario.
void check_priorities(MappingReader& reader, const Scenario& scenario);

// Only packets are lost. And only packets are marked and paused: notes where another fidelity is
// asked for, of marks and of switches that pause what nothing holds up. `reader`: of the scenario.
void check_losses(MappingReader& reader, Scenario& scenario);

// What makes a network lossless that drops what its buffers cannot hold.
WhatIf made_lossless(const Scenario& scenario);

}  // namespace gradhaul

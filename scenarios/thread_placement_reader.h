#pragma once

// communication.thread_placement: at which socket communication threads run, of all nodes alike.
// One node alone that is bound wrongly is a fault (scenarios/node_fault_reader.h).

#include "core/cluster.h"
#include "scenarios/mapping_reader.h"
#include "scenarios/scenario.h"

namespace gradhaul {

// `cluster`: nothing where it was not understood.
ThreadPlacement read_thread_placement(MappingReader& reader, const Cluster* cluster);

// Of a scenario that has been understood: its cluster's threads are where its communication has
// them, and a note says so where that is not at their GPUs.
void place_threads(Scenario& scenario);

// Reports jobs that have theirs elsewhere than the scenario: a node's threads are bound as one.
void check_placement_of_jobs(MappingReader& reader, const Scenario& scenario);

}  // namespace gradhaul

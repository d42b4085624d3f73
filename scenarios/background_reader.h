#pragma once

// `background`: traffic of others, which nobody waits for, as long as the run lasts:
//
//   background:
//     - {pattern: permutation, load: 0.3, message: 1MB}

#include <vector>

#include "core/cluster.h"
#include "core/task_graph.h"
#include "scenarios/mapping_reader.h"

namespace gradhaul {

// `reader`: of the whole scenario, `cluster` its cluster.
std::vector<BackgroundTraffic> read_background(MappingReader& reader, const Cluster& cluster);

}  // namespace gradhaul

#pragma once

// Which algorithms there are for a collective, and what they are called.

#include <span>
#include <string_view>

#include "core/cluster.h"
#include "core/communication.h"
#include "core/workload.h"

namespace gradhaul {

// As scenarios and results have it: "double_binary_tree".
std::string_view name_of(Algorithm algorithm);

// The first is what runs unless another is asked for.
std::span<const Algorithm> algorithms_of(Collective collective);
bool has_algorithm(Collective collective, Algorithm algorithm);

// What is run where `asked` is asked for: itself, or the collective's first where it has no ring
// and a ring, which is the default of the key, is asked for.
Algorithm running_algorithm(Collective collective, Algorithm asked);

// Whether data goes from rank to rank around a ring of all ranks.
bool runs_rings(Collective collective, Algorithm asked);
// Whether it goes along chains within nodes and trees over nodes.
bool runs_trees(Collective collective, Algorithm asked);
// Whether the algorithm is of two levels: several nodes, and several ranks in each.
bool needs_two_levels(Algorithm algorithm);
// And whether the cluster has what it needs.
bool has_levels(Algorithm algorithm, const Cluster& cluster);

}  // namespace gradhaul

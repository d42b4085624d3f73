#pragma once

// What the RDMA ports of measuring ranks have counted, as a result file has it: under the names of
// NICs that a prediction gives them, beside which it is then laid.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"

namespace gradhaul {

using CountedAtPorts = std::vector<std::pair<std::string, std::int64_t>>;  // "mlx5_0:1/NAME"

// By how much more than before, 0 too: so that each port keeps its place.
CountedAtPorts growth(const CountedAtPorts& before, const CountedAtPorts& after);

// One rank's, on its way to another.
std::string counted_text(const CountedAtPorts& counted);

// Of all ranks, each the text of one. `nodes`: of each rank. Ports are a node's NICs in the order
// in which they come. Ranks of a node share its ports: the first one's count. Text that is none is
// passed over. What counted nothing is left out, unless predictions know it: that a port has such a
// counter is told by its 0.
std::vector<PortCounters> counters_of_ranks(const std::vector<std::string>& texts,
                                            const std::vector<int>& nodes);

}  // namespace gradhaul

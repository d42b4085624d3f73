#pragma once

// Which algorithms there are for a collective, and what they are called.

#include <span>
#include <string_view>

#include "core/communication.h"
#include "core/workload.h"

namespace gradhaul {

// As scenarios and results have it: "double_binary_tree".
std::string_view name_of(Algorithm algorithm);

// The first is what runs unless another is asked for.
std::span<const Algorithm> algorithms_of(Collective collective);

}  // namespace gradhaul

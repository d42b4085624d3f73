#pragma once

// A schedule proven in every order in which completions can be delivered, where it is small.

#include <cstdint>
#include <string>
#include <vector>

#include "core/symbolic_checker.h"

namespace gradhaul::oracle {

// Every order in which completions can be delivered, each state visited once: two orders that lead
// to the same state of all engines (their stall tables), memories and queues need no telling apart.
struct Exploration {
  std::int64_t states = 0;
  std::int64_t final_states = 0;
  bool complete = true;  // false: stopped at `most_states`
  std::vector<std::string> violations;
};
// `eager`: completions of these kinds are delivered as soon as they come up, in one fixed order, to
// keep larger cases within reach.
Exploration explore_all_orders(const Schedule& schedule, const CheckSettings& settings,
                               const std::vector<CompletionKind>& eager, std::int64_t most_states);

}  // namespace gradhaul::oracle

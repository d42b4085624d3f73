#include "backends/measure/rank_memory.h"

#include <algorithm>

namespace gradhaul {

RunFacts joined_facts(RunFacts of_transport, const RunFacts& of_memory) {
  for (const auto& [name, value] : of_memory) {
    const auto same = [&name = name](const auto& fact) { return fact.first == name; };
    std::erase_if(of_transport, same);
    of_transport.emplace_back(name, value);
  }
  return of_transport;
}

}  // namespace gradhaul

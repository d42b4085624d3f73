#include "analysis/engine_facts.h"

#include <algorithm>

namespace gradhaul {

void add_facts(const std::vector<std::pair<std::string, std::string>>& facts,
               nlohmann::ordered_json& engine) {
  for (auto fact = facts.begin(); fact != facts.end(); ++fact) {
    const auto& [name, value] = *fact;
    const auto same = [&name = name](const auto& other) { return other.first == name; };
    if (std::any_of(facts.begin(), fact, same)) {
      if (!engine[name].is_array()) engine[name] = nlohmann::ordered_json::array({engine[name]});
      engine[name].push_back(value);
    } else {
      engine[name] = value;
    }
  }
}

}  // namespace gradhaul

#pragma once

// What a transport and its memory say of themselves, as `engine` of files of JSON has it.

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace gradhaul {

// A name that stands once has its text; one that each of several NICs has, the list of theirs, in
// the order of the NICs. What was in `engine` under such a name is gone.
void add_facts(const std::vector<std::pair<std::string, std::string>>& facts,
               nlohmann::ordered_json& engine);

}  // namespace gradhaul

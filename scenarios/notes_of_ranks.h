#pragma once

// What several ranks note, told once.

#include <string>
#include <vector>

namespace gradhaul {

// `texts`: of each rank, from 0 on, its notes line by line. Each note once, in the order in which
// ranks say them, and who says it where that is not everybody: "ranks 1 to 3 and 6: …".
std::vector<std::string> notes_of_ranks(const std::vector<std::string>& texts);

}  // namespace gradhaul

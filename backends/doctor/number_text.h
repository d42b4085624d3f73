#pragma once

// Numbers as findings say them.

#include <string>
#include <string_view>
#include <vector>

namespace gradhaul {

// Three significant digits: "12.5", "400", "0.021", "1230000".
std::string number_text(double number);
// "1 h", "90 s", "10 min": the largest unit that leaves no fraction.
std::string seconds_text(double seconds);
// "a, b, c", with " and " before the last.
std::string list_text(const std::vector<std::string>& parts);
// "1 GPU", "2 GPUs".
std::string count_of_things(std::size_t count, std::string_view thing);

}  // namespace gradhaul

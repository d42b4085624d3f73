#include "backends/doctor/number_text.h"

#include <array>
#include <charconv>
#include <cmath>

namespace gradhaul {

std::string number_text(double number) {
  if (std::abs(number) >= 1000) return std::to_string(std::llround(number));
  std::array<char, 64> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number,
                                 std::chars_format::general, 3);
  return {digits.data(), end.ptr};
}

std::string seconds_text(double seconds) {
  for (const auto& [size, unit] : {std::pair{3600.0, " h"}, std::pair{60.0, " min"}}) {
    if (seconds >= size && std::fmod(seconds, size) == 0) return number_text(seconds / size) + unit;
  }
  return number_text(seconds) + " s";
}

std::string list_text(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += i + 1 == parts.size() ? " and " : ", ";
    text += parts[i];
  }
  return text;
}

std::string count_of_things(std::size_t count, std::string_view thing) {
  return std::to_string(count) + " " + std::string(thing) + (count == 1 ? "" : "s");
}

}  // namespace gradhaul

#include "analysis/speed_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/quantity_text.h"

namespace gradhaul {
namespace {

constexpr double kAsFast = 0.005;

bool is_plain(char c) {
  constexpr std::string_view kOthers = "_-./=,:@%+";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         kOthers.find(c) != kOthers.npos;
}

}  // namespace

std::string speed_text(Duration before, Duration after) {
  const double gain =
      static_cast<double>(before.ps) / static_cast<double>(std::max<std::int64_t>(after.ps, 1));
  if (gain >= 1 + kAsFast) return fmt::format("{:.2f} times as fast", gain);
  if (gain > 1 - kAsFast) return "as fast as before";
  return fmt::format("slower by {}", percent_text(1 / gain - 1));
}

std::string shell_word(std::string_view word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

}  // namespace gradhaul

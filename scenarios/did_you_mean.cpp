#include "scenarios/did_you_mean.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace gradhaul {
namespace {

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

int substitution(char a, char b) {
  if (a == b) return 0;
  return lower(a) == lower(b) ? 1 : 2;
}

// Longer than any name of ours; keeps a hostile key from costing quadratic time.
constexpr std::size_t kLongestName = 64;

}  // namespace

int edit_distance_in_halves(std::string_view a, std::string_view b) {
  const std::size_t columns = b.size() + 1;
  std::vector<int> before(columns);
  std::vector<int> last(columns);
  std::vector<int> row(columns);
  for (std::size_t j = 0; j < columns; ++j) last[j] = static_cast<int>(2 * j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(2 * i);
    for (std::size_t j = 1; j < columns; ++j) {
      row[j] =
          std::min({last[j] + 2, row[j - 1] + 2, last[j - 1] + substitution(a[i - 1], b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 2);
      }
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string nearest(std::string_view given, const std::vector<std::string>& known) {
  if (given.empty() || given.size() > kLongestName) return {};
  std::string best;
  // A third of the letters may be wrong, one at least.
  int least = std::max(2, 2 * static_cast<int>(given.size()) / 3) + 1;
  for (const std::string& name : known) {
    const int distance = edit_distance_in_halves(given, name);
    // Nothing of the name is left where every letter had to change.
    if (distance < least && distance < 2 * static_cast<int>(std::max(given.size(), name.size()))) {
      least = distance;
      best = name;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view given, const std::vector<std::string>& known) {
  const std::string name = nearest(given, known);
  return name.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", name);
}

std::string join_or(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

}  // namespace gradhaul

#include "scenarios/notes_of_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>

namespace gradhaul {
namespace {

// "rank 2", "ranks 0 to 2 and 5"; in ascending order.
std::string name_of(const std::vector<std::size_t>& ranks) {
  std::vector<std::string> runs;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (last == i + 1) last = i;  // two are listed
    runs.push_back(last == i ? fmt::format("{}", ranks[i])
                             : fmt::format("{} to {}", ranks[i], ranks[last]));
    i = last + 1;
  }
  const std::string last = runs.back();
  runs.pop_back();
  const std::string text =
      runs.empty() ? last : fmt::format("{} and {}", fmt::join(runs, ", "), last);
  return (ranks.size() == 1 ? "rank " : "ranks ") + text;
}

}  // namespace

std::vector<std::string> notes_of_ranks(const std::vector<std::string>& texts) {
  std::vector<std::pair<std::string, std::vector<std::size_t>>> notes;
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    std::istringstream lines(texts[rank]);
    for (std::string line; std::getline(lines, line);) {
      if (line.empty()) continue;
      auto note = std::ranges::find(notes, line, &decltype(notes)::value_type::first);
      if (note == notes.end()) note = notes.insert(notes.end(), {line, {}});
      if (note->second.empty() || note->second.back() != rank) note->second.push_back(rank);
    }
  }
  std::vector<std::string> told;
  for (const auto& [note, ranks] : notes) {
    const bool all = ranks.size() == texts.size();
    told.push_back(all ? note : fmt::format("{}: {}", name_of(ranks), note));
  }
  return told;
}

}  // namespace gradhaul

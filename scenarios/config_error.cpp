#include "scenarios/config_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace gradhaul {
namespace {

std::string lines_of(const std::vector<Problem>& problems) {
  std::string text;
  for (const Problem& problem : problems) {
    if (!text.empty()) text += '\n';
    text += problem.text();
  }
  return text;
}

}  // namespace

std::string Location::text() const {
  return line == 0 ? source : fmt::format("{}:{}:{}", source, line, column);
}

std::string Problem::text() const { return fmt::format("{}: {}", location.text(), message); }

void Problems::add(const Location& location, std::string message) {
  problems_.push_back({location, std::move(message)});
}

std::vector<Problem> Problems::sorted() const {
  std::vector<std::string> sources;
  const auto rank = [&sources](const Problem& problem) {
    const auto found = std::find(sources.begin(), sources.end(), problem.location.source);
    if (found == sources.end()) {
      sources.push_back(problem.location.source);
      return sources.size() - 1;
    }
    return static_cast<std::size_t>(found - sources.begin());
  };
  std::vector<std::pair<std::size_t, Problem>> ranked;
  for (const Problem& problem : problems_) {
    const auto same = [&problem](const auto& other) {
      return other.second.text() == problem.text();
    };
    if (std::none_of(ranked.begin(), ranked.end(), same))
      ranked.emplace_back(rank(problem), problem);
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first, a.second.location.line, a.second.location.column) <
           std::tie(b.first, b.second.location.line, b.second.location.column);
  });
  std::vector<Problem> sorted;
  for (auto& [index, problem] : ranked) sorted.push_back(std::move(problem));
  return sorted;
}

ConfigError::ConfigError(std::vector<Problem> problems)
    : std::runtime_error(lines_of(problems)), problems_(std::move(problems)) {}

}  // namespace gradhaul

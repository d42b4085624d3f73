#include "scenarios/config_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
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

// A message repeats what was written, which may be a whole page where a quote ends too late.
std::string clipped(const std::string& message) {
  constexpr std::size_t kMost = 600;
  constexpr std::size_t kTail = 200;
  if (message.size() <= kMost) return message;
  const auto inside_character = [&message](std::size_t at) {
    return (static_cast<unsigned char>(message[at]) & 0xc0) == 0x80;
  };
  std::size_t head = kMost - kTail;
  while (head > 0 && inside_character(head)) --head;
  std::size_t tail = message.size() - kTail;
  while (tail < message.size() && inside_character(tail)) ++tail;
  return message.substr(0, head) + " … " + message.substr(tail);
}

}  // namespace

std::string Location::text() const {
  return line == 0 ? source : fmt::format("{}:{}:{}", source, line, column);
}

std::string Problem::text() const { return fmt::format("{}: {}", location.text(), message); }

void Problems::add(const Location& location, const std::string& message) {
  problems_.push_back({location, clipped(message)});
}

std::vector<Problem> Problems::sorted() const {
  std::map<std::string, std::size_t> sources;  // with their rank, that of their first problem
  std::set<std::string> seen;
  std::vector<Problem> sorted;
  for (const Problem& problem : problems_) {
    sources.emplace(problem.location.source, sources.size());
    if (seen.insert(problem.text()).second) sorted.push_back(problem);
  }
  const auto order = [&sources](const Problem& problem) {
    return std::tuple(sources.at(problem.location.source), problem.location.line,
                      problem.location.column);
  };
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&order](const Problem& a, const Problem& b) { return order(a) < order(b); });
  return sorted;
}

ConfigError::ConfigError(std::vector<Problem> problems)
    : std::runtime_error(lines_of(problems)), problems_(std::move(problems)) {}

std::vector<Problem> told_at(std::vector<Problem> problems,
                             const std::vector<std::string>& settings, const std::string& option) {
  for (Problem& problem : problems) {
    for (const std::string& setting : settings) {
      if (problem.location.source != "--set " + setting) continue;
      problem.location.source = option + " " + setting;
    }
  }
  return problems;
}

void refuse(const std::string& source, const std::string& why) {
  Problems problems;
  problems.add({.source = source}, why);
  throw ConfigError(problems.sorted());
}

}  // namespace gradhaul

#include "scenarios/command_context.h"

#include <fmt/format.h>

#include <cstdio>

namespace gradhaul {

bool print(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  return std::fflush(stdout) == 0 && written;
}

void print_problems(const ConfigError& error) {
  for (const Problem& problem : error.problems()) fmt::print(stderr, "{}\n", problem.text());
}

void complain(const std::string& text) { fmt::print(stderr, "gradhaul: {}\n", text); }

}  // namespace gradhaul

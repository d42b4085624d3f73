#pragma once

// gradhaul compare: a prediction beside what was measured.

#include <string>

#include "scenarios/command_context.h"
#include "scenarios/picture_command.h"

namespace gradhaul {

struct CompareOptions {
  std::string predicted;
  std::string measured;  // "-": standard input
  std::string tolerance = "10%";
  std::string json;  // empty: none is written
  std::string csv;
  PictureOptions picture;
};

// The exit status: 3 where a row is outside the tolerance.
int run_compare(const CompareOptions& options, const CommandContext& context);

}  // namespace gradhaul

#pragma once

// gradhaul import: what other tools know of a machine, as a node file.

#include <string>

#include "scenarios/command_context.h"

namespace gradhaul {

struct ImportOptions {
  std::string kind;  // "nccl-topology"
  std::string file;
};

// To standard output. The exit status.
int run_import(const ImportOptions& options, const CommandContext& context);

}  // namespace gradhaul

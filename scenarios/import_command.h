#pragma once

// gradhaul import: what other tools know of a machine, as a node file; or of rings, as the
// communication of a scenario.

#include <string>

#include "scenarios/command_context.h"

namespace CLI {
class App;
}

namespace gradhaul {

struct ImportOptions {
  std::string kind;  // "nccl-topology", "nccl-graph", "lstopo", "nvidia-smi"
  std::string file;
  std::string gpu;  // a shipped model instead of what the file tells; empty: none
  std::string nic;
  int nodes = 0;  // of nccl-graph; 0: not said
};

// The subcommand, with its options.
void add_import(CLI::App& app, ImportOptions& options);

// To standard output. The exit status.
int run_import(const ImportOptions& options, const CommandContext& context);

}  // namespace gradhaul

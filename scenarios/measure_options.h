#pragma once

// What the command line of `gradhaul measure` says.

#include <optional>
#include <string>
#include <vector>

#include "scenarios/launched_rank.h"
#include "scenarios/progress_bar.h"
#include "scenarios/rendezvous_token.h"

namespace gradhaul {

struct MeasureOptions {
  std::string scenario;
  std::vector<std::string> settings;
  std::string backend;
  std::optional<int> ranks;
  std::optional<int> rank;
  std::string rendezvous;              // HOST:PORT
  GivenToken token;                    // of the rendezvous
  std::vector<std::string> rdma;       // NAME=VALUE, of the backend verbs
  std::string memory = "host";         // or "gpu": whose memory ranks have their data in
  std::string within_node = "memory";  // or "network": how ranks of one node reach each other
  std::optional<int> iterations;
  std::optional<int> warmup;
  std::string timeout = "30s";
  std::string json;  // empty: none is written
  std::string csv;
  bool ladder = false;
  bool pairs = false;
  ProgressMode progress = ProgressMode::kAuto;
  // This process is one of several that a measure on this host started by itself.
  bool started_by_measure = false;
  std::string rank0_at;                  // HOST:PORT where that one listens, whatever it was told
  std::optional<LaunchedRank> launched;  // as mpirun or srun says
  std::vector<std::string> arguments;    // the command line, without the program's name
};

}  // namespace gradhaul

#pragma once

// Measured runs of small worlds, as a user would have them.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "backends/bootstrap/socket.h"
#include "tests/program/background_program.h"

namespace gradhaul {

// A world without anything that takes long; what is set comes on top.
inline std::vector<std::string> measure(const std::string& backend,
                                        const std::vector<std::string>& settings,
                                        const std::vector<std::string>& options) {
  std::vector<std::string> arguments{"measure", "link-test", "--backend", backend};
  for (const std::string& setting :
       {std::string("cluster.network=ndr"), std::string("communication.channels=2"),
        std::string("communication.slot_size=64KiB"),
        std::string("workload.collective=all_reduce")}) {
    arguments.push_back("--set=" + setting);
  }
  for (const std::string& setting : settings) arguments.push_back("--set=" + setting);
  arguments.insert(arguments.end(), options.begin(), options.end());
  return arguments;
}

// Each size and half once, without warm-up, into a result file that is returned.
inline nlohmann::json measured(const std::string& backend, int ranks,
                               const std::vector<std::string>& settings) {
  const std::string json = temporary_file("measured.json");
  const ProgramRun run = run_program(measure(backend, settings,
                                             {"--ranks", std::to_string(ranks), "--iterations=1",
                                              "--warmup=0", "--timeout=60s", "--json", json}));
  EXPECT_EQ(run.status, 0) << run.err;
  if (run.status != 0) return {};
  return nlohmann::json::parse(text_of(json));
}

// A port that was free a moment ago.
inline std::string free_rendezvous() { return text_of(local_address(listen_at({"127.0.0.1", 0}))); }

}  // namespace gradhaul

#pragma once

// What `gradhaul import` has made.

#include <gtest/gtest.h>

#include <string>

#include "tests/program/run_program.h"

namespace gradhaul {

// That it is a node that a scenario can have.
inline void expect_predicts(const std::string& node_text) {
  const std::string node = temporary_file("node.yaml");
  write_text(node, node_text);
  const ProgramRun run =
      run_program({"predict", "link-test", "--set=cluster.node=" + node,
                   "--set=cluster.network=ndr", "--set=cluster.network.link=100Gb/s",
                   "--set=workload.size=1MiB", "--set=workload.collective=all_reduce"});
  EXPECT_EQ(run.status, 0) << run.err << node_text;
}

}  // namespace gradhaul

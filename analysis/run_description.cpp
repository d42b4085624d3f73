#include "analysis/run_description.h"

#include <fmt/format.h>

namespace gradhaul {

RunDescription describe_run(const Cluster& cluster, const Communication& communication,
                            std::string_view scenario, std::string_view version) {
  RunDescription run;
  run.scenario = scenario;
  run.cluster = fmt::format("{} x {} over {} ({} ranks)", cluster.nodes, cluster.node.name,
                            cluster.network.name, cluster.ranks());
  run.profile = communication.profile;
  run.version = version;
  return run;
}

}  // namespace gradhaul

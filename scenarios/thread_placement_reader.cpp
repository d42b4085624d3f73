#include "scenarios/thread_placement_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace gradhaul {
namespace {

using At = ThreadPlacement::At;

constexpr std::string_view kKey = "thread_placement";
constexpr int kMostSockets = 8;  // where the node is not known

}  // namespace

ThreadPlacement read_thread_placement(MappingReader& reader, const Cluster* cluster) {
  const int sockets = cluster == nullptr ? kMostSockets : cluster->node.sockets;
  std::vector<std::string> names{"auto", "other_socket"};
  for (int socket = 0; socket < sockets; ++socket) names.push_back(fmt::format("socket{}", socket));
  const std::size_t chosen =
      reader.choice(kKey, {.otherwise = {"auto"}, .available = {names.begin(), names.end()}});
  if (chosen == 0) return {};
  if (chosen == 1 && sockets < 2) {
    reader.report(kKey, fmt::format("thread_placement: {} has one socket, and no other; take auto",
                                    cluster->node.name));
  } else if (cluster != nullptr && cluster->node.pcie.empty()) {
    reader.report(kKey, fmt::format("thread_placement: {} has no PCIe that says at which socket a "
                                    "GPU is; take auto",
                                    cluster->node.name));
  }
  if (chosen == 1) return {At::kOther, 0};
  return sockets < 2 ? ThreadPlacement{} : ThreadPlacement{At::kOne, static_cast<int>(chosen) - 2};
}

void place_threads(Scenario& scenario) {
  const ThreadPlacement& threads = scenario.communication.threads;
  scenario.cluster.threads = threads;
  if (threads.at == At::kGpu || scenario.cluster.nodes < 2) return;
  scenario.model_notes.push_back(fmt::format(
      "communication threads run {}: what they tell GPUs and NICs, and hear of them, crosses "
      "the link between sockets, and so does what is staged there.",
      threads.at == At::kOther
          ? std::string("at another socket than the GPUs they serve")
          : fmt::format("at socket{}, and serve GPUs of others too", threads.socket)));
}

void check_placement_of_jobs(MappingReader& reader, const Scenario& scenario) {
  if (std::any_of(scenario.jobs.begin(), scenario.jobs.end(), [&](const Job& job) {
        return job.communication.threads != scenario.communication.threads;
      })) {
    reader.report("jobs",
                  "jobs: threads of all run at the same socket in this version; say "
                  "thread_placement in `communication` of the scenario");
  }
}

}  // namespace gradhaul

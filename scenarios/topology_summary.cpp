#include "scenarios/topology_summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/placement.h"
#include "core/step_plan.h"
#include "core/topology_size.h"
#include "scenarios/quantity.h"
#include "scenarios/training_reader.h"

namespace gradhaul {
namespace {

// Longer rings are cut: their pattern is in their beginning.
constexpr std::size_t kShownRanks = 32;
constexpr std::size_t kShownRings = 4;

std::string counted(int count, std::string_view what, std::string_view plural = "s") {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : plural);
}

std::string network_line(const Cluster& cluster) {
  const Topology& topology = cluster.network.topology;
  const std::string link = format_rate(cluster.network.link);
  switch (topology.kind) {
    case TopologyKind::kBackToBack:
      return fmt::format("network: {}, cables of {} between the NICs of two nodes, no switch",
                         cluster.network.name, link);
    case TopologyKind::kSingleSwitch:
      return fmt::format("network: {}, one switch, {} of {}", cluster.network.name,
                         counted(cluster.nodes * cluster.node.nic_count, "port"), link);
    case TopologyKind::kRing:
      return fmt::format(
          "network: {}, a ring of {} of {} ports, {} between neighbours, links of {}",
          cluster.network.name, counted(topology.leaves, "leaf", " switches"),
          topology.switch_ports, counted(cables_per_neighbour(topology), "cable"), link);
    default:
      break;
  }
  const char* const kind =
      topology.kind == TopologyKind::kRailOptimized ? "rail-optimised" : "leaf and spine";
  return fmt::format("network: {}, {}, {} of {} ports, {}, {} a leaf, links of {}",
                     cluster.network.name, kind, counted(topology.leaves, "leaf", " switches"),
                     topology.switch_ports, counted(topology.spines, "spine"),
                     counted(topology.uplinks_per_leaf, "uplink"), link);
}

// The sizes as they will be sent.
std::string message_line(const Workload& workload) {
  const auto& sizes = workload.sizes;
  const std::string first = format_bytes(sizes.front());
  if (sizes.size() == 1) return fmt::format("{} a rank", first);
  return fmt::format("{} sizes, {} to {} a rank", sizes.size(), first, format_bytes(sizes.back()));
}

std::string training_line(const TrainingStep& step, const Cluster& cluster) {
  std::size_t buckets = 0;
  for (const StageModel& stage : stage_models(step)) {
    buckets = std::max(buckets, stage.buckets.size());
  }
  const ParallelLayout layout = step.layout(cluster.ranks());
  return fmt::format(
      "a training step of {}: tensor {} x data {} x pipeline {}, {} of gradients{}, up to {:.1f} "
      "MB each",
      step.model.name, layout.tensor, layout.data, layout.pipeline,
      counted(static_cast<int>(buckets), "bucket"), layout.pipeline > 1 ? " a stage" : "",
      static_cast<double>(workload_of(step).sizes.front().count) / 1e6);
}

std::string ring_line(std::size_t channel, const std::vector<Rank>& ring) {
  const auto shown = static_cast<std::ptrdiff_t>(std::min(ring.size(), kShownRanks));
  return fmt::format("ring of channel {}: {}{}", channel,
                     fmt::join(ring.begin(), ring.begin() + shown, " "),
                     ring.size() > kShownRanks ? " …" : "");
}

// Which ranks of the cluster a job has, and what each of them sends.
std::string job_line(const Cluster& cluster, const Job& job) {
  std::vector<Rank> ranks;
  for (const int gpu : job.gpus) ranks.push_back(cluster.rank_of(gpu));
  const auto shown = static_cast<std::ptrdiff_t>(std::min(ranks.size(), kShownRanks));
  return fmt::format("job {}: {}, ranks {}{}", job.name, message_line(job.workload),
                     fmt::join(ranks.begin(), ranks.begin() + shown, " "),
                     ranks.size() > kShownRanks ? " …" : "");
}

}  // namespace

std::vector<std::string> topology_summary(const Scenario& scenario) {
  const Cluster& cluster = scenario.cluster;
  std::vector<std::string> lines;
  lines.push_back(
      fmt::format("{} on {} of {}, {} a node; {} and {} a node", counted(cluster.ranks(), "rank"),
                  counted(cluster.nodes, "node"), cluster.node.name, cluster.ranks_per_node,
                  counted(cluster.node.gpu_count, "GPU"), counted(cluster.node.nic_count, "NIC")));
  if (scenario.training_step) {
    lines.push_back(training_line(*scenario.training_step, cluster));
  } else if (scenario.jobs.empty()) {
    lines.push_back(message_line(scenario.workload));
  }
  if (cluster.nodes > 1) lines.push_back(network_line(cluster));
  for (const Job& job : scenario.jobs) lines.push_back(job_line(cluster, job));
  if (!scenario.jobs.empty()) {
    for (const std::string& note : scenario.all_notes()) lines.push_back("note: " + note);
    return lines;
  }
  const Placement placement = place(cluster, scenario.communication, scenario.workload.collective);
  lines.push_back(counted(placement.channels, "channel"));
  for (std::size_t c = 0; c < std::min(placement.rings.size(), kShownRings); ++c) {
    lines.push_back(ring_line(c, placement.rings[c]));
  }
  if (placement.rings.size() > kShownRings) {
    lines.push_back(fmt::format("… and {} more rings", placement.rings.size() - kShownRings));
  }
  for (const std::string& note : scenario.all_notes()) lines.push_back("note: " + note);
  for (const std::string& note : all_notes(placement)) lines.push_back("note: " + note);
  return lines;
}

}  // namespace gradhaul

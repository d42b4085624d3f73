#include "core/ladder.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/assert.h"
#include "core/busbw.h"
#include "core/collective_algorithms.h"

namespace gradhaul {
namespace {

struct RungName {
  Rung rung;
  std::string_view name;
  std::string_view words;
};

constexpr std::array<RungName, 5> kNames{{
    {Rung::kLink, "link", "link"},
    {Rung::kHostPair, "host_pair", "pair, host memory"},
    {Rung::kGpuPair, "gpu_pair", "pair, GPU memory"},
    {Rung::kRingStep, "ring_step", "ring step"},
    {Rung::kCollective, "collective", "collective"},
}};

const RungName& entry_of(Rung rung) {
  const auto found = std::find_if(kNames.begin(), kNames.end(),
                                  [&](const RungName& entry) { return entry.rung == rung; });
  GRADHAUL_ASSERT(found != kNames.end(), "every rung has its name");
  return *found;
}

// NICs of a node that send what leaves it.
int sending_nics(const Cluster& cluster, const Placement& placement, Collective collective) {
  int nics = cluster.node.nic_count;
  // The last rank of a node alone sends out of it.
  if (collective == Collective::kSendRecv) {
    nics = static_cast<int>(placement.gpu_nics.back().size());
  }
  return std::min(nics, placement.channels);
}

// Over bytes of the message.
double leaving_share(const Cluster& cluster, Collective collective) {
  if (collective != Collective::kAllToAll) return busbw_factor(collective, cluster.ranks());
  const double per_node = cluster.ranks_per_node;
  return per_node * (cluster.ranks() - per_node) / cluster.ranks();
}

}  // namespace

std::string_view name_of(Rung rung) { return entry_of(rung).name; }
std::string_view words_of(Rung rung) { return entry_of(rung).words; }

std::optional<Rung> rung_of(std::string_view name) {
  for (const RungName& entry : kNames) {
    if (entry.name == name) return entry.rung;
  }
  return std::nullopt;
}

double bandwidth_of(const LadderRow& row) {
  if (!row.missing.empty() || row.time.ps <= 0) return 0;
  return static_cast<double>(row.carried.count) / row.time.seconds();
}

CarriedBytes carried_by_nic(const Cluster& cluster, const Placement& placement,
                            Collective collective, Algorithm algorithm, Bytes size) {
  const double share = leaving_share(cluster, collective);
  const double nics = sending_nics(cluster, placement, collective);
  CarriedBytes carried;
  carried.whole = {
      std::max<std::int64_t>(1, std::llround(static_cast<double>(size.count) * share / nics))};
  if (running_algorithm(collective, algorithm) == Algorithm::kRing) {
    const std::int64_t around = cluster.ranks() - 1;
    if (collective == Collective::kAllReduce) carried.steps = 2 * around;
    if (collective == Collective::kReduceScatter || collective == Collective::kAllGather) {
      carried.steps = around;
    }
  }
  return carried;
}

std::string why_no_ring_step(Collective collective, Algorithm algorithm) {
  const bool reduces =
      collective == Collective::kAllReduce || collective == Collective::kReduceScatter;
  if (!reduces) return "this collective reduces nothing";
  if (running_algorithm(collective, algorithm) == Algorithm::kRing) return "";
  return std::string(name_of(algorithm)) + " runs no ring";
}

}  // namespace gradhaul

#include "core/communicator_placement.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "core/assert.h"
#include "core/channel_count.h"
#include "core/pcie_distance.h"
#include "core/projected_cluster.h"
#include "core/topology_size.h"

namespace gradhaul {
namespace {

class AllRanks final : public Membership {
 public:
  AllRanks(Placement placement, const Cluster& cluster)
      : placement_(std::move(placement)), whole_(placement_, cluster) {}
  int gpu(Rank rank) const override { return whole_.gpu(rank); }
  Hop hop(int channel, Rank source, Rank destination) const override {
    return whole_.hop(channel, source, destination);
  }

 private:
  Placement placement_;
  WholeCluster whole_;
};

class ProjectedRanks final : public Membership {
 public:
  ProjectedRanks(Placement placement, ProjectedCluster projected, std::vector<int> gpus)
      : placement_(std::move(placement)),
        projected_(std::move(projected)),
        gpus_(std::move(gpus)) {}
  int gpu(Rank rank) const override { return gpus_[static_cast<std::size_t>(rank)]; }
  Hop hop(int channel, Rank source, Rank destination) const override {
    Hop hop = hop_between(placement_, projected_.cluster, channel, source, destination);
    const auto back = [](int& number, const std::vector<int>& numbers) {
      if (number >= 0) number = numbers[static_cast<std::size_t>(number)];
    };
    back(hop.source_nic, projected_.nics);
    back(hop.destination_nic, projected_.nics);
    back(hop.relay_gpu, projected_.gpus);
    return hop;
  }

 private:
  Placement placement_;
  ProjectedCluster projected_;
  std::vector<int> gpus_;
};

bool keeps_rails(const Topology& topology) {
  return topology.kind == TopologyKind::kRailOptimized ||
         topology.kind == TopologyKind::kBackToBack;
}

// Of equally near NICs the channel's own, or else channels take turns.
int pick(const std::vector<int>& nics, int channel, int nic_count) {
  const int own = channel % nic_count;
  if (std::find(nics.begin(), nics.end(), own) != nics.end()) return own;
  return nics[static_cast<std::size_t>(channel) % nics.size()];
}

class ScatteredRanks final : public Membership {
 public:
  ScatteredRanks(const Cluster& cluster, const std::vector<int>& gpus, GpuDirect gpudirect)
      : cluster_(cluster),
        gpus_(gpus),
        distances_(cluster.node),
        gpudirect_(cluster.node, gpudirect) {}
  int gpu(Rank rank) const override { return gpus_[static_cast<std::size_t>(rank)]; }
  Hop hop(int channel, Rank source, Rank destination) const override;

 private:
  int node_of(Rank rank) const { return gpu(rank) / cluster_.node.gpu_count; }
  int number_of(Rank rank) const { return gpu(rank) % cluster_.node.gpu_count; }
  int relay(Rank source, int nic) const;

  const Cluster& cluster_;
  std::vector<int> gpus_;
  PcieDistances distances_;
  GpuDirectPairs gpudirect_;
};

// One of the communicator in the same node that is nearer to the NIC, the nearest, of several the
// lowest.
int ScatteredRanks::relay(Rank source, int nic) const {
  if (!cluster_.node.nvlink) return -1;
  int nearest = number_of(source);
  for (const int other : gpus_) {
    if (other / cluster_.node.gpu_count != node_of(source)) continue;
    const int number = other % cluster_.node.gpu_count;
    const PcieDistance distance = distances_.gpu_to_nic(number, nic);
    const PcieDistance least = distances_.gpu_to_nic(nearest, nic);
    const bool ties = distance == least && nearest != number_of(source) && number < nearest;
    if (distance < least || ties) nearest = number;
  }
  return nearest == number_of(source) ? -1 : nearest;
}

Hop ScatteredRanks::hop(int channel, Rank source, Rank destination) const {
  Hop hop{.source = source, .destination = destination};
  if (node_of(source) == node_of(destination)) {
    hop.staged_out = hop.staged_in =
        peers_are_staged(cluster_.node, number_of(source), number_of(destination));
    return hop;
  }
  const std::vector<int> near_source = distances_.nearest_nics(number_of(source));
  const std::vector<int> near_destination = distances_.nearest_nics(number_of(destination));
  std::vector<int> shared;
  std::set_intersection(near_source.begin(), near_source.end(), near_destination.begin(),
                        near_destination.end(), std::back_inserter(shared));
  const int nics = cluster_.node.nic_count;
  const Topology& topology = cluster_.network.topology;
  if (!shared.empty()) {
    hop.source_nic = hop.destination_nic = pick(shared, channel, nics);
  } else if (keeps_rails(topology) && cluster_.node.nvlink) {
    hop.source_nic = hop.destination_nic = pick(near_destination, channel, nics);
  } else {
    hop.source_nic = pick(near_source, channel, nics);
    hop.destination_nic =
        rails_meet(topology) ? pick(near_destination, channel, nics) : hop.source_nic;
  }
  hop.relay_gpu = relay(source, hop.source_nic);
  const int reading = hop.relay_gpu >= 0 ? hop.relay_gpu : number_of(source);
  hop.staged_out = !gpudirect_.of(reading, hop.source_nic).reads;
  hop.staged_in = !gpudirect_.of(number_of(destination), hop.destination_nic).writes;
  return hop;
}

// By node, ascending: ranks by their GPUs.
std::map<int, std::vector<Rank>> ranks_by_node(const Cluster& cluster,
                                               const std::vector<int>& gpus) {
  std::vector<Rank> ranks(gpus.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  const auto gpu_of = [&](Rank rank) { return gpus[static_cast<std::size_t>(rank)]; };
  std::sort(ranks.begin(), ranks.end(), [&](Rank a, Rank b) { return gpu_of(a) < gpu_of(b); });
  std::map<int, std::vector<Rank>> by_node;
  for (const Rank rank : ranks) by_node[gpu_of(rank) / cluster.node.gpu_count].push_back(rank);
  return by_node;
}

int scattered_channels(const Cluster& cluster, const Communicator& communicator,
                       const std::map<int, std::vector<Rank>>& by_node) {
  const Communication& communication = communicator.communication;
  if (communication.channels) return *communication.channels;
  if (communication.listed_rings.size() > 1) {
    return static_cast<int>(communication.listed_rings.size());
  }
  Cluster seen = cluster;
  seen.nodes = static_cast<int>(by_node.size());
  seen.node.nic_count = 1;
  for (const auto& [node, ranks] : by_node) {
    std::vector<int> numbers;
    for (const Rank rank : ranks) {
      numbers.push_back(communicator.gpus[static_cast<std::size_t>(rank)] % cluster.node.gpu_count);
    }
    const auto near = static_cast<int>(nics_near(cluster.node, numbers).size());
    seen.node.nic_count = std::max(seen.node.nic_count, near);
  }
  return automatic_channels(seen);
}

Placement place_scattered(const Cluster& cluster, const Communicator& communicator) {
  const auto by_node = ranks_by_node(cluster, communicator.gpus);
  Placement placement;
  placement.channels = scattered_channels(cluster, communicator, by_node);
  placement.ranks_per_node = 1;
  placement.nic_rule = NicRule::kNearestToRanks;
  const auto& listed = communicator.communication.listed_rings;
  for (int channel = 0; channel < placement.channels; ++channel) {
    placement.crossings.emplace_back();
    std::vector<Rank>& ring = placement.rings.emplace_back();
    if (!listed.empty()) {
      ring = listed.size() == 1 ? listed.front() : listed[static_cast<std::size_t>(channel)];
      continue;
    }
    for (const auto& [node, ranks] : by_node) {
      for (std::size_t i = 0; i < ranks.size(); ++i) {
        ring.push_back(ranks[(i + static_cast<std::size_t>(channel)) % ranks.size()]);
      }
    }
  }
  return placement;
}

bool are_all_ranks(const Cluster& cluster, const std::vector<int>& gpus) {
  if (gpus.size() != static_cast<std::size_t>(cluster.ranks())) return false;
  for (Rank rank = 0; rank < cluster.ranks(); ++rank) {
    if (gpus[static_cast<std::size_t>(rank)] != cluster.gpu_of(rank)) return false;
  }
  return true;
}

}  // namespace

CommunicatorPlacement place_communicator(const Cluster& cluster, const Communicator& communicator,
                                         Collective collective) {
  GRADHAUL_ASSERT(communicator.gpus.size() >= 2, "a communicator has ranks that communicate");
  CommunicatorPlacement placed;
  if (are_all_ranks(cluster, communicator.gpus)) {
    placed.placement = place(cluster, communicator.communication, collective);
    placed.membership = std::make_unique<AllRanks>(placed.placement, cluster);
    return placed;
  }
  if (auto projected = project(cluster, communicator.gpus)) {
    placed.placement = place(projected->cluster, communicator.communication, collective);
    placed.membership = std::make_unique<ProjectedRanks>(placed.placement, std::move(*projected),
                                                         communicator.gpus);
    return placed;
  }
  placed.placement = place_scattered(cluster, communicator);
  placed.membership = std::make_unique<ScatteredRanks>(cluster, communicator.gpus,
                                                       communicator.communication.gpudirect);
  return placed;
}

}  // namespace gradhaul

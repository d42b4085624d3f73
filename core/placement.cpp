#include "core/placement.h"

#include <algorithm>
#include <utility>

#include "core/assert.h"
#include "core/channel_count.h"
#include "core/collective_algorithms.h"
#include "core/pcie_distance.h"
#include "core/ring_order.h"
#include "core/topology_size.h"

namespace gradhaul {

namespace {

enum class Pattern : std::uint8_t { kRing, kTree, kPairwise };

Pattern pattern_of(const Communication& communication, Collective collective) {
  if (runs_rings(collective, communication.algorithm)) return Pattern::kRing;
  return runs_trees(collective, communication.algorithm) ? Pattern::kTree : Pattern::kPairwise;
}

bool contains(const std::vector<int>& values, int value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// Of equally near NICs the channel's own, or else channels take turns.
int pick(const std::vector<int>& nics, int channel, int nic_count) {
  const int own = channel % nic_count;
  if (contains(nics, own)) return own;
  return nics[static_cast<std::size_t>(channel) % nics.size()];
}

// Where several GPUs are as near, sources and channels spread over them.
int relay_gpu(const Placement& placement, const Cluster& cluster, int channel, const Hop& hop) {
  if (!cluster.node.nvlink) return -1;
  const int gpu = hop.source % placement.ranks_per_node;
  const std::vector<int>& near = placement.nic_gpus[hop.source_nic];
  if (contains(near, gpu)) return -1;
  return near[static_cast<std::size_t>(channel + gpu) % near.size()];
}

Hop through_nics(const Placement& placement, const Cluster& cluster, int channel, Hop hop) {
  hop.relay_gpu = relay_gpu(placement, cluster, channel, hop);
  return hop;
}

Hop hop_by_own_nic(const Placement& placement, const Cluster& cluster, int channel, Hop hop) {
  hop.source_nic = hop.destination_nic = channel % cluster.node.nic_count;
  return through_nics(placement, cluster, channel, hop);
}

std::vector<Rank> all_ranks(const Cluster& cluster) {
  std::vector<Rank> ranks(static_cast<std::size_t>(cluster.ranks()));
  for (Rank rank = 0; rank < cluster.ranks(); ++rank) ranks[rank] = rank;
  return ranks;
}

std::vector<Rank> ranks_of(const std::vector<NodePassage>& passages, int ranks_per_node) {
  std::vector<Rank> ring;
  for (const NodePassage& passage : passages) {
    for (const int gpu : passage.gpus) ring.push_back(passage.node * ranks_per_node + gpu);
  }
  return ring;
}

std::vector<Hop> crossings_of(const std::vector<NodePassage>& passages, const Placement& placement,
                              const Cluster& cluster, int channel) {
  std::vector<Hop> crossings;
  for (std::size_t i = 0; i < passages.size(); ++i) {
    const NodePassage& from = passages[i];
    const NodePassage& to = passages[(i + 1) % passages.size()];
    crossings.push_back(
        through_nics(placement, cluster, channel,
                     {.source = from.node * placement.ranks_per_node + from.gpus.back(),
                      .destination = to.node * placement.ranks_per_node + to.gpus.front(),
                      .source_nic = from.leaving_nic,
                      .destination_nic = from.leaving_nic}));
  }
  return crossings;
}

void add_ring_orders(Placement& placement, const Cluster& cluster, Pattern pattern,
                     RingOrder order) {
  // A tree's chains begin at a GPU near the channel's NIC in every node, as rings of nccl's do.
  const bool balanced = pattern == Pattern::kRing && order == RingOrder::kBalanced;
  const RingOrders orders(cluster.node, cluster.nodes, cluster.ranks_per_node, balanced);
  placement.notes = orders.notes();
  const bool crosses = pattern == Pattern::kRing && cluster.nodes > 1;
  for (int channel = 0; channel < placement.channels; ++channel) {
    const std::vector<NodePassage> passages = orders.ring(channel);
    placement.rings.push_back(ranks_of(passages, placement.ranks_per_node));
    placement.crossings.push_back(crosses ? crossings_of(passages, placement, cluster, channel)
                                          : std::vector<Hop>());
  }
}

void add_listed_rings(Placement& placement, const Cluster& cluster, Pattern pattern,
                      const std::vector<std::vector<Rank>>& rings) {
  GRADHAUL_ASSERT(rings.size() == 1 || rings.size() == static_cast<std::size_t>(placement.channels),
                  "one ring is listed for all channels, or one for each");
  for (int channel = 0; channel < placement.channels; ++channel) {
    const std::vector<Rank>& ring = rings.size() == 1 ? rings.front() : rings[channel];
    placement.rings.push_back(ring);
    std::vector<Hop>& crossings = placement.crossings.emplace_back();
    for (std::size_t i = 0; i < ring.size() && pattern == Pattern::kRing; ++i) {
      const Rank next = ring[(i + 1) % ring.size()];
      if (ring[i] / placement.ranks_per_node == next / placement.ranks_per_node) continue;
      crossings.push_back(
          hop_by_own_nic(placement, cluster, channel, {.source = ring[i], .destination = next}));
    }
  }
}

void add_node_tables(Placement& placement, const Cluster& cluster) {
  const PcieDistances distances(cluster.node);
  for (int gpu = 0; gpu < placement.ranks_per_node; ++gpu) {
    placement.gpu_nics.push_back(distances.nearest_nics(gpu));
  }
  for (int nic = 0; nic < cluster.node.nic_count; ++nic) {
    placement.nic_gpus.push_back(distances.nearest_gpus(nic, placement.ranks_per_node));
  }
}

void add_load_notes(Placement& placement, const Cluster& cluster) {
  if (cluster.nodes == 1) return;
  const int nics = cluster.node.nic_count;
  if (placement.channels % nics != 0) {
    placement.model_notes.push_back(std::to_string(placement.channels) +
                                    " channels are not a multiple of a node's " +
                                    std::to_string(nics) + " NICs, which are loaded unequally");
  }
  const PcieDistances distances(cluster.node);
  int far = 0;
  for (int nic = 0; nic < nics; ++nic) {
    const int nearest = distances.nearest_gpus(nic, cluster.node.gpu_count).front();
    const int taking_part = placement.nic_gpus[nic].front();
    if (distances.gpu_to_nic(taking_part, nic) > distances.gpu_to_nic(nearest, nic)) ++far;
  }
  if (far > 0) {
    placement.model_notes.push_back("the GPUs nearest to " + std::to_string(far) + " of a node's " +
                                    std::to_string(nics) +
                                    " NICs take no part; others use these NICs from farther away");
  }
}

void add_gpudirect(Placement& placement, const Cluster& cluster, GpuDirect setting) {
  if (cluster.nodes == 1) return;
  placement.gpudirect = GpuDirectPairs(cluster.node, setting);
  for (std::string& note : gpudirect_notes(cluster.node, setting, placement.ranks_per_node)) {
    placement.model_notes.push_back(std::move(note));
  }
}

int channels_of(const Cluster& cluster, const Communication& communication) {
  if (communication.channels) return *communication.channels;
  const auto listed = static_cast<int>(communication.listed_rings.size());
  if (communication.ring_order == RingOrder::kListed && listed > 1) return listed;
  return automatic_channels(cluster);
}

}  // namespace

std::vector<std::string> all_notes(const Placement& placement) {
  std::vector<std::string> notes = placement.notes;
  notes.insert(notes.end(), placement.model_notes.begin(), placement.model_notes.end());
  return notes;
}

Placement place(const Cluster& cluster, const Communication& communication, Collective collective) {
  const Pattern pattern = pattern_of(communication, collective);
  Placement placement;
  placement.channels = channels_of(cluster, communication);
  placement.ranks_per_node = cluster.ranks_per_node;
  placement.nic_rule =
      pattern == Pattern::kPairwise ? NicRule::kNearestToRanks : NicRule::kOfChannel;
  add_node_tables(placement, cluster);
  if (communication.ring_order == RingOrder::kListed) {
    add_listed_rings(placement, cluster, pattern, communication.listed_rings);
  } else if (pattern == Pattern::kPairwise) {
    placement.rings.assign(static_cast<std::size_t>(placement.channels), all_ranks(cluster));
    placement.crossings.resize(static_cast<std::size_t>(placement.channels));
  } else {
    add_ring_orders(placement, cluster, pattern, communication.ring_order);
  }
  for (std::vector<Hop>& crossings : placement.crossings) {
    std::sort(crossings.begin(), crossings.end(),
              [](const Hop& left, const Hop& right) { return left.source < right.source; });
  }
  if (pattern != Pattern::kPairwise) add_load_notes(placement, cluster);
  add_gpudirect(placement, cluster, communication.gpudirect);
  return placement;
}

namespace {

bool keeps_rails(const Topology& topology) {
  return topology.kind == TopologyKind::kRailOptimized ||
         topology.kind == TopologyKind::kBackToBack;
}

// What GPUDirect leaves out, and what sockets that pass no peer-to-peer do.
Hop with_staging(const Placement& placement, const Cluster& cluster, Hop hop) {
  const int per_node = placement.ranks_per_node;
  const int source = hop.source % per_node;
  const int destination = hop.destination % per_node;
  if (hop.source_nic < 0) {
    hop.staged_out = hop.staged_in = peers_are_staged(cluster.node, source, destination);
    return hop;
  }
  const int reading = hop.relay_gpu >= 0 ? hop.relay_gpu : source;
  hop.staged_out = !placement.gpudirect.of(reading, hop.source_nic).reads;
  hop.staged_in = !placement.gpudirect.of(destination, hop.destination_nic).writes;
  return hop;
}

// The rule of the header for all_to_all and send_recv.
Hop hop_by_nearest(const Placement& placement, const Cluster& cluster, int channel, Hop hop) {
  const int nic_count = cluster.node.nic_count;
  const std::vector<int>& near_source = placement.gpu_nics[hop.source % placement.ranks_per_node];
  const std::vector<int>& near_destination =
      placement.gpu_nics[hop.destination % placement.ranks_per_node];
  std::vector<int> shared;
  std::set_intersection(near_source.begin(), near_source.end(), near_destination.begin(),
                        near_destination.end(), std::back_inserter(shared));
  const Topology& topology = cluster.network.topology;
  if (!shared.empty()) {
    hop.source_nic = hop.destination_nic = pick(shared, channel, nic_count);
  } else if (keeps_rails(topology) && cluster.node.nvlink) {
    hop.source_nic = hop.destination_nic = pick(near_destination, channel, nic_count);
  } else {
    hop.source_nic = pick(near_source, channel, nic_count);
    hop.destination_nic =
        rails_meet(topology) ? pick(near_destination, channel, nic_count) : hop.source_nic;
  }
  return through_nics(placement, cluster, channel, hop);
}

Hop direct_hop(const Placement& placement, const Cluster& cluster, int channel, Rank source,
               Rank destination) {
  const Hop hop{.source = source, .destination = destination};
  const int per_node = placement.ranks_per_node;
  if (source / per_node == destination / per_node) return hop;
  const std::vector<Hop>& crossings = placement.crossings[channel];
  const auto crossing =
      std::lower_bound(crossings.begin(), crossings.end(), source,
                       [](const Hop& candidate, Rank rank) { return candidate.source < rank; });
  if (crossing != crossings.end() && crossing->source == source &&
      crossing->destination == destination) {
    return *crossing;
  }
  if (placement.nic_rule == NicRule::kNearestToRanks) {
    return hop_by_nearest(placement, cluster, channel, hop);
  }
  return hop_by_own_nic(placement, cluster, channel, hop);
}

}  // namespace

Hop hop_between(const Placement& placement, const Cluster& cluster, int channel, Rank source,
                Rank destination) {
  GRADHAUL_ASSERT(channel >= 0 && channel < placement.channels, "the placement has the channel");
  return with_staging(placement, cluster,
                      direct_hop(placement, cluster, channel, source, destination));
}

std::vector<int> nearest_nics(const Node& node, int gpu) {
  return PcieDistances(node).nearest_nics(gpu);
}

std::vector<int> nearest_gpus(const Node& node, int nic) {
  return PcieDistances(node).nearest_gpus(nic, node.gpu_count);
}

}  // namespace gradhaul

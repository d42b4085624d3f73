// What must hold of every placement: nodes 1 to 9, GPUs 1 to 8, NICs 0 to 8 a node, dealt out over
// PCIe switches and sockets in many ways, with NVLink and without, in both ring orders.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "core/placement.h"
#include "tests/core/sample_nodes.h"

namespace gradhaul {
namespace {

struct Case {
  Cluster cluster;
  RingOrder order = RingOrder::kBalanced;
  int rounds = 1;  // of channels over NICs

  Communication communication() const {
    Communication result;
    result.ring_order = order;
    result.channels = rounds * std::max(cluster.node.nic_count, 1);
    return result;
  }
};

std::string words(const Case& tried) {
  const Node& node = tried.cluster.node;
  std::string text = std::to_string(tried.cluster.nodes) + " nodes, " +
                     std::to_string(tried.cluster.ranks_per_node) + " of " +
                     std::to_string(node.gpu_count) + " GPUs, " + std::to_string(node.nic_count) +
                     " NICs, " + std::to_string(node.pcie.size()) + " branches, " +
                     std::to_string(node.sockets) + " sockets";
  text += node.nvlink ? ", nvlink" : "";
  text += tried.order == RingOrder::kNccl ? ", nccl" : ", balanced";
  return text + ", rounds " + std::to_string(tried.rounds);
}

std::vector<Node> all_nodes() {
  std::vector<Node> nodes = {samples::hgx_h100(),
                             samples::dgx_a100(),
                             samples::two_gpus_share_a_nic(),
                             samples::two_nics_behind_one_uplink(),
                             samples::nic_on_other_socket(),
                             samples::one_nic_for_eight_gpus(),
                             samples::one_gpu_one_nic()};
  for (int gpus = 1; gpus <= 8; ++gpus) {
    for (int nics = 0; nics <= 8; ++nics) {
      for (const int switches : {1, 2, 4, 8}) {
        if (switches >= 2 * std::max(gpus, nics)) continue;  // as with fewer
        const bool nvlink = switches != 4;
        nodes.push_back(samples::dealt_node({gpus, nics, switches, switches > 1 ? 2 : 1, nvlink}));
      }
      nodes.push_back(samples::bare_node(gpus, nics));
    }
  }
  nodes.push_back(samples::hgx_h100());
  nodes.back().nvlink.reset();
  return nodes;
}

void for_each_case(const std::function<void(const Case&)>& check) {
  for (const Node& node : all_nodes()) {
    for (int nodes = node.nic_count > 0 ? 9 : 1; nodes >= 1; --nodes) {
      for (const int per_node : std::set<int>{node.gpu_count, (node.gpu_count + 1) / 2, 1}) {
        if (nodes * per_node < 2) continue;
        for (const RingOrder order : {RingOrder::kBalanced, RingOrder::kNccl}) {
          Case tried{samples::cluster_of(node, nodes), order, per_node % 2 == 0 ? 2 : 1};
          tried.cluster.ranks_per_node = per_node;
          check(tried);
        }
      }
    }
  }
}

std::vector<Hop> hops_of(const Placement& placement, const Cluster& cluster, int channel) {
  std::vector<Hop> hops;
  const std::vector<Rank>& ring = placement.rings[channel];
  for (std::size_t i = 0; i < ring.size(); ++i) {
    hops.push_back(hop_between(placement, cluster, channel, ring[i], ring[(i + 1) % ring.size()]));
  }
  return hops;
}

TEST(PlacementProperties, RingsVisitEveryRankOnceAndEveryNodeInOneGo) {
  for_each_case([](const Case& tried) {
    const Placement placement = place(tried.cluster, tried.communication(), Collective::kAllReduce);
    ASSERT_EQ(placement.rings.size(), static_cast<std::size_t>(placement.channels));
    for (const std::vector<Rank>& ring : placement.rings) {
      std::vector<Rank> sorted = ring;
      std::sort(sorted.begin(), sorted.end());
      ASSERT_EQ(sorted.size(), static_cast<std::size_t>(tried.cluster.ranks())) << words(tried);
      for (Rank rank = 0; rank < tried.cluster.ranks(); ++rank) ASSERT_EQ(sorted[rank], rank);
      for (std::size_t i = 0; i < ring.size(); ++i) {
        const std::size_t first_of_node = i - i % placement.ranks_per_node;
        ASSERT_EQ(ring[i] / placement.ranks_per_node,
                  ring[first_of_node] / placement.ranks_per_node)
            << words(tried);
      }
      ASSERT_LT(ring.front(), placement.ranks_per_node);
    }
  });
}

TEST(PlacementProperties, EveryNicCarriesTheSameBothWaysAndHopsStayOnTheirRail) {
  for_each_case([](const Case& tried) {
    const Cluster& cluster = tried.cluster;
    const Placement placement = place(cluster, tried.communication(), Collective::kAllReduce);
    const int nics = cluster.node.nic_count;
    std::vector<int> leaving(static_cast<std::size_t>(cluster.nodes) * nics, 0);
    std::vector<int> entering = leaving;
    for (int channel = 0; channel < placement.channels; ++channel) {
      for (const Hop& hop : hops_of(placement, cluster, channel)) {
        const int from = hop.source / placement.ranks_per_node;
        const int to = hop.destination / placement.ranks_per_node;
        ASSERT_EQ(hop.source_nic, hop.destination_nic) << words(tried);
        ASSERT_EQ(hop.source_nic < 0, from == to) << words(tried);
        if (from == to) continue;
        ++leaving[from * nics + hop.source_nic];
        ++entering[to * nics + hop.destination_nic];
      }
    }
    const int expected = cluster.nodes > 1 ? tried.rounds : 0;
    for (const int count : leaving) ASSERT_EQ(count, expected) << words(tried);
    for (const int count : entering) ASSERT_EQ(count, expected) << words(tried);
  });
}

// NVLink hands over to a GPU beside the NIC where and only where the source is not beside it; a
// ring enters a node beside the NIC always.
TEST(PlacementProperties, NicsReadAndWriteGpusNearThem) {
  for_each_case([](const Case& tried) {
    const Cluster& cluster = tried.cluster;
    const Placement placement = place(cluster, tried.communication(), Collective::kAllReduce);
    for (const auto& crossings : placement.crossings) {
      for (const Hop& hop : crossings) {
        const std::vector<int>& near = placement.nic_gpus[hop.source_nic];
        const auto is_near = [&](int gpu) {
          return std::count(near.begin(), near.end(), gpu) == 1;
        };
        ASSERT_TRUE(is_near(hop.destination % placement.ranks_per_node)) << words(tried);
        const bool source_near = is_near(hop.source % placement.ranks_per_node);
        if (!cluster.node.nvlink || source_near) {
          ASSERT_EQ(hop.relay_gpu, -1) << words(tried);
        } else {
          ASSERT_TRUE(is_near(hop.relay_gpu)) << words(tried);
        }
        // Without a fallback, balanced rings leave beside the NIC as well.
        if (tried.order == RingOrder::kBalanced && all_notes(placement).empty()) {
          ASSERT_TRUE(source_near) << words(tried);
        }
      }
    }
  });
}

bool falls_back(const Placement& placement) {
  return std::any_of(placement.notes.begin(), placement.notes.end(), [](const std::string& note) {
    return note.find("ring_order balanced") != std::string::npos;
  });
}

// As many NVLink hops as hops of rings inside nodes, one less a node than GPUs, and where a ring is
// nccl's the hand-over makes it as many.
TEST(PlacementProperties, NvlinkCarriesOneHopLessThanGpusUnlessHandedBack) {
  for_each_case([](const Case& tried) {
    const Cluster& cluster = tried.cluster;
    if (cluster.nodes == 1 || cluster.ranks_per_node == 1) return;
    const Placement placement = place(cluster, tried.communication(), Collective::kAllReduce);
    for (int channel = 0; channel < placement.channels; ++channel) {
      const int nic = channel % cluster.node.nic_count;
      int local = 0;
      for (const Hop& hop : hops_of(placement, cluster, channel)) {
        if (hop.source_nic < 0 || hop.relay_gpu >= 0) ++local;
      }
      const bool handed_back = cluster.node.nvlink && placement.nic_gpus[nic].size() == 1 &&
                               (tried.order == RingOrder::kNccl || falls_back(placement));
      const int each = cluster.ranks_per_node - (handed_back ? 0 : 1);
      ASSERT_EQ(local, cluster.nodes * each) << words(tried) << ", channel " << channel;
    }
  });
}

// The rule of the interface, from the layout alone: it falls back where the NICs with one GPU
// nearest are too few, too many at one GPU, or, over odd nodes, less than three for each such GPU.
TEST(PlacementProperties, BalancedFallsBackOnlyWhereRailsCannotClose) {
  for_each_case([](const Case& tried) {
    const Cluster& cluster = tried.cluster;
    if (tried.order != RingOrder::kBalanced) return;
    const Placement placement = place(cluster, tried.communication(), Collective::kAllReduce);
    std::vector<int> nics_of_gpu(static_cast<std::size_t>(cluster.ranks_per_node), 0);
    int single = 0;
    for (const std::vector<int>& gpus : placement.nic_gpus) {
      if (gpus.size() != 1) continue;
      ++single;
      ++nics_of_gpu[gpus.front()];
    }
    const int most = *std::max_element(nics_of_gpu.begin(), nics_of_gpu.end());
    const int rails_needed = cluster.nodes % 2 == 0 ? 2 : 3;
    const bool expected = cluster.nodes > 1 && cluster.ranks_per_node > 1 && single > 0 &&
                          single < rails_needed * most;
    ASSERT_EQ(falls_back(placement), expected) << words(tried);
  });
}

TEST(PlacementProperties, RingsOfOneRoundAreEachOtherTurnedByAGpu) {
  for (const int nodes : {2, 3, 6}) {
    const Cluster cluster = samples::cluster_of(samples::hgx_h100(), nodes);
    const Placement placement = place(cluster, {}, Collective::kAllReduce);
    for (int channel = 0; channel < 8; ++channel) {
      std::vector<Rank> turned;
      for (const Rank rank : placement.rings[channel]) {
        turned.push_back(rank / 8 * 8 + (rank + 1) % 8);
      }
      EXPECT_EQ(turned, placement.rings[(channel + 1) % 8]) << nodes << " nodes";
    }
  }
}

// Every pair of ranks has a way for every pattern, by NICs and GPUs that there are.
TEST(PlacementProperties, AnyTwoRanksReachEachOther) {
  for (const Node& node : all_nodes()) {
    if (node.nic_count == 0) continue;
    const Cluster cluster = samples::cluster_of(node, 2);
    for (const Collective collective : {Collective::kAllToAll, Collective::kAllReduce}) {
      const Placement placement = place(cluster, {}, collective);
      for (Rank source = 0; source < cluster.ranks(); ++source) {
        for (Rank destination = 0; destination < cluster.ranks(); ++destination) {
          const Hop hop = hop_between(placement, cluster, 0, source, destination);
          const bool crosses = source / node.gpu_count != destination / node.gpu_count;
          ASSERT_EQ(hop.source_nic >= 0, crosses);
          ASSERT_EQ(hop.destination_nic >= 0, crosses);
          ASSERT_LT(std::max(hop.source_nic, hop.destination_nic), node.nic_count);
          ASSERT_NE(hop.relay_gpu, source % node.gpu_count);
        }
      }
    }
  }
}

}  // namespace
}  // namespace gradhaul

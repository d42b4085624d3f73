#include "core/topology_size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace gradhaul {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Network network_of(TopologyKind kind, int ports, double oversubscription = 1) {
  Network network;
  network.topology.kind = kind;
  network.topology.switch_ports = ports;
  network.oversubscription = oversubscription;
  return network;
}

void expect_size(const SizedTopology& sized, int leaves, int spines, int uplinks) {
  EXPECT_THAT(sized.errors, IsEmpty());
  EXPECT_EQ(sized.topology.leaves, leaves);
  EXPECT_EQ(sized.topology.spines, spines);
  EXPECT_EQ(sized.topology.uplinks_per_leaf, uplinks);
}

TEST(TopologySize, BackToBackJoinsTwoNodes) {
  const Network network = network_of(TopologyKind::kBackToBack, 0);
  const SizedTopology sized = size_topology(network, 2, 8);
  expect_size(sized, 0, 0, 0);
  EXPECT_EQ(leaf_of(sized.topology, 2, 8, 1, 5), -1);
  EXPECT_FALSE(rails_meet(sized.topology));
  EXPECT_THAT(size_topology(network, 3, 1).errors,
              ElementsAre("back_to_back joins exactly 2 nodes, not 3"));
}

TEST(TopologySize, SingleSwitchIsAsWideAsNeeded) {
  const SizedTopology sized = size_topology(network_of(TopologyKind::kSingleSwitch, 0), 100, 8);
  expect_size(sized, 1, 0, 0);
  EXPECT_EQ(leaf_of(sized.topology, 100, 8, 99, 7), 0);
  EXPECT_TRUE(rails_meet(sized.topology));
}

TEST(TopologySize, SingleSwitchOfGivenWidth) {
  expect_size(size_topology(network_of(TopologyKind::kSingleSwitch, 32), 4, 8), 1, 0, 0);
  EXPECT_THAT(size_topology(network_of(TopologyKind::kSingleSwitch, 31), 4, 8).errors,
              ElementsAre("switch_ports 31 are too few for 4 nodes of 8 NICs at a single switch: "
                          "32 needed"));
}

TEST(TopologySize, GivenTiersWhereThereAreNone) {
  Network network = network_of(TopologyKind::kSingleSwitch, 0);
  network.topology.leaves = 2;
  network.topology.spines = 1;
  network.topology.uplinks_per_leaf = 4;
  EXPECT_EQ(size_topology(network, 2, 1).errors.size(), 3U);
  network.topology.kind = TopologyKind::kBackToBack;
  EXPECT_EQ(size_topology(network, 2, 1).errors.size(), 3U);
}

// Ports 64: with as many up as down 32 NICs, four nodes of eight. Sixteen nodes: four leaves, their
// 128 uplinks fill two spines.
TEST(TopologySize, LeafSpineNonBlocking) {
  const Network network = network_of(TopologyKind::kLeafSpine, 64);
  expect_size(size_topology(network, 16, 8), 4, 2, 32);
  expect_size(size_topology(network, 5, 8), 2, 1, 24);  // 3 + 2 nodes
  expect_size(size_topology(network, 8, 8), 2, 1, 32);  // a spine of 64 ports
  expect_size(size_topology(network, 9, 8), 3, 2, 24);  // 72 uplinks
  expect_size(size_topology(network, 256, 8), 64, 32, 32);
}

TEST(TopologySize, LeafSpineOfOneLeafHasNoSpine) {
  Network network = network_of(TopologyKind::kLeafSpine, 64);
  expect_size(size_topology(network, 4, 8), 1, 0, 0);
  network.topology.leaves = 1;
  expect_size(size_topology(network, 8, 8), 1, 0, 0);
}

// Three to one: 48 down and 16 up of 64; six nodes a leaf.
TEST(TopologySize, LeafSpineOversubscribed) {
  const Network network = network_of(TopologyKind::kLeafSpine, 64, 3);
  expect_size(size_topology(network, 24, 8), 4, 1, 16);
  expect_size(size_topology(network_of(TopologyKind::kLeafSpine, 64, 1.2), 8, 8), 2, 1, 27);
  // 30 / 1.2 = 25 exactly.
  expect_size(size_topology(network_of(TopologyKind::kLeafSpine, 55, 1.2), 60, 1), 2, 1, 25);
}

TEST(TopologySize, LeafSpineTooSmall) {
  EXPECT_THAT(size_topology(network_of(TopologyKind::kLeafSpine, 12), 4, 8).errors,
              ElementsAre("switch_ports 12 are too few for 8 downlinks and 8 uplinks of a leaf"));
  EXPECT_THAT(
      size_topology(network_of(TopologyKind::kLeafSpine, 4), 16, 2).errors,
      ElementsAre("switch_ports 4 of a spine are too few for 1 cable to each of 16 leaves"));
  EXPECT_THAT(size_topology(network_of(TopologyKind::kLeafSpine, 0), 4, 8).errors,
              ElementsAre("leaf_spine needs switch_ports"));
  EXPECT_THAT(size_topology(network_of(TopologyKind::kLeafSpine, 64, 0), 4, 8).errors,
              ElementsAre("oversubscription must be above 0"));
}

TEST(TopologySize, GivenValuesAreKeptAndChecked) {
  Network network = network_of(TopologyKind::kLeafSpine, 64);
  network.topology.leaves = 4;
  network.topology.spines = 4;
  expect_size(size_topology(network, 4, 8), 4, 4, 8);
  network.topology.uplinks_per_leaf = 16;  // more than asked for
  expect_size(size_topology(network, 4, 8), 4, 4, 16);
  network.topology.uplinks_per_leaf = 4;
  EXPECT_THAT(size_topology(network, 4, 8).errors,
              ElementsAre("uplinks_per_leaf 4 are fewer than the 8 that 8 downlinks of a leaf need "
                          "for this oversubscription"));
  network.oversubscription = 2;
  expect_size(size_topology(network, 4, 8), 4, 4, 4);
  network.topology.spines = 3;
  EXPECT_THAT(size_topology(network, 4, 8).errors,
              ElementsAre("uplinks_per_leaf 4 do not spread evenly over 3 spines"));
  network.topology.leaves = -1;
  EXPECT_EQ(size_topology(network, 4, 8).errors.size(), 1U);
}

TEST(TopologySize, GivenUplinksAndSpinesLimitWhatALeafHolds) {
  Network network = network_of(TopologyKind::kLeafSpine, 64);
  network.topology.uplinks_per_leaf = 16;
  expect_size(size_topology(network, 4, 8), 2, 1, 16);
  network.topology.uplinks_per_leaf = 0;
  network.topology.spines = 5;
  expect_size(size_topology(network, 8, 8), 3, 5, 25);  // 24 up from 3 nodes, in fives
}

TEST(TopologySize, TooManyOfTooSmallLeaves) {
  Network network = network_of(TopologyKind::kLeafSpine, 64);
  network.topology.leaves = 1;
  EXPECT_THAT(size_topology(network, 9, 8).errors,
              ElementsAre("switch_ports 64 are too few for 72 downlinks and 0 uplinks of a leaf"));
}

// NIC i of every node at leaf i. Thirty-two nodes are the most of one leaf of 64 ports.
TEST(TopologySize, RailOptimized) {
  const Network network = network_of(TopologyKind::kRailOptimized, 64);
  const SizedTopology four = size_topology(network, 4, 8);
  expect_size(four, 8, 1, 4);
  for (int nic = 0; nic < 8; ++nic) EXPECT_EQ(leaf_of(four.topology, 4, 8, 3, nic), nic);
  EXPECT_TRUE(rails_meet(four.topology));

  expect_size(size_topology(network, 32, 8), 8, 4, 32);
  const SizedTopology two_each = size_topology(network, 33, 8);
  expect_size(two_each, 16, 17, 17);  // 17 uplinks spread over 1 or 17 spines only
  EXPECT_EQ(leaf_of(two_each.topology, 33, 8, 16, 3), 6);
  EXPECT_EQ(leaf_of(two_each.topology, 33, 8, 17, 3), 7);
  EXPECT_EQ(leaf_of(two_each.topology, 33, 8, 32, 7), 15);
}

TEST(TopologySize, RailsAloneDoNotMeet) {
  Network network =
      network_of(TopologyKind::kRailOptimized, 64, std::numeric_limits<double>::infinity());
  const SizedTopology sized = size_topology(network, 64, 8);
  expect_size(sized, 8, 0, 0);
  EXPECT_FALSE(rails_meet(sized.topology));
  EXPECT_THAT(size_topology(network, 65, 8).errors,
              ElementsAre("without uplinks the 16 leaves do not reach each other"));
  network.topology.kind = TopologyKind::kLeafSpine;
  EXPECT_THAT(size_topology(network, 16, 8).errors, testing::SizeIs(1));
  network.topology.kind = TopologyKind::kRailOptimized;
  network.topology.spines = 2;
  EXPECT_THAT(size_topology(network, 4, 8).errors, testing::SizeIs(1));
}

TEST(TopologySize, OneRailIsAsLeafSpine) {
  const Network network = network_of(TopologyKind::kRailOptimized, 64);
  const SizedTopology sized = size_topology(network, 32, 1);
  expect_size(sized, 1, 0, 0);
  EXPECT_TRUE(rails_meet(sized.topology));
  expect_size(size_topology(network, 64, 1), 2, 1, 32);
}

TEST(TopologySize, GivenLeavesAreAsManyForEachRail) {
  Network network = network_of(TopologyKind::kRailOptimized, 64);
  network.topology.leaves = 12;
  EXPECT_THAT(
      size_topology(network, 4, 8).errors,
      ElementsAre("rail_optimized has the same number of leaves for each of 8 rails; leaves "
                  "12 is no multiple"));
  network.topology.leaves = 16;
  expect_size(size_topology(network, 4, 8), 16, 1, 2);
}

TEST(TopologySize, NothingToJoin) {
  EXPECT_THAT(size_topology(network_of(TopologyKind::kLeafSpine, 64), 1, 0).errors, IsEmpty());
  EXPECT_THAT(size_topology(network_of(TopologyKind::kRailOptimized, 64), 0, 8).errors, IsEmpty());
}

// Whatever was sized without errors: leaves hold their NICs and uplinks, spines their cables, nodes
// of a leaf_spine stay together, and destinations of a leaf use all its cables evenly.
void check_sized(const Network& network, int nodes, int nics) {
  const SizedTopology sized = size_topology(network, nodes, nics);
  if (!sized.errors.empty()) return;
  const Topology& topology = sized.topology;
  std::map<int, int> downlinks;
  std::map<std::pair<int, std::pair<int, int>>, int> destinations_of_cable;
  for (int node = 0; node < nodes; ++node) {
    for (int nic = 0; nic < nics; ++nic) {
      const int leaf = leaf_of(topology, nodes, nics, node, nic);
      ASSERT_GE(leaf, 0);
      ASSERT_LT(leaf, topology.leaves);
      ++downlinks[leaf];
      if (topology.kind == TopologyKind::kLeafSpine) {
        ASSERT_EQ(leaf, leaf_of(topology, nodes, nics, node, 0));
      }
      if (topology.spines == 0) continue;
      const int spine = spine_of(topology, nodes, nics, node, nic);
      const int cable = cable_of(topology, nodes, nics, node, nic);
      ASSERT_LT(spine, topology.spines);
      ASSERT_LT(cable, cables_per_spine(topology));
      ++destinations_of_cable[{leaf, {spine, cable}}];
    }
  }
  for (const auto& [leaf, count] : downlinks) {
    ASSERT_LE(count + topology.uplinks_per_leaf, topology.switch_ports);
    ASSERT_LE(count, network.oversubscription * topology.uplinks_per_leaf + 1e-6 +
                         (topology.leaves == 1 ? count : 0));
    const int evenly = topology.spines == 0 ? 0 : (count - 1) / topology.uplinks_per_leaf + 1;
    for (const auto& [cable, destinations] : destinations_of_cable) {
      if (cable.first == leaf) {
        ASSERT_LE(destinations, evenly);
      }
    }
  }
  ASSERT_EQ(cables_per_spine(topology) * topology.spines, topology.uplinks_per_leaf);
  ASSERT_LE(topology.leaves * cables_per_spine(topology), topology.switch_ports);
  ASSERT_EQ(topology.spines > 0, topology.leaves > 1);
}

TEST(TopologySize, WhatIsSizedFits) {
  for (const TopologyKind kind : {TopologyKind::kLeafSpine, TopologyKind::kRailOptimized}) {
    for (const int ports : {4, 8, 36, 40, 64}) {
      for (const double oversubscription : {0.5, 1.0, 1.5, 2.0, 7.0}) {
        for (int nodes = 1; nodes <= 40; ++nodes) {
          for (int nics = 1; nics <= 8; ++nics) {
            check_sized(network_of(kind, ports, oversubscription), nodes, nics);
            if (HasFatalFailure()) {
              FAIL() << nodes << " nodes, " << nics << " NICs, " << ports
                     << " ports, 1:" << oversubscription;
            }
          }
        }
      }
    }
  }
}

// D-mod-K: the NICs of a leaf of 32 with 32 uplinks have a cable each, to 2 spines in turn.
TEST(TopologySize, StaticRoutingIsByDestination) {
  const SizedTopology sized = size_topology(network_of(TopologyKind::kLeafSpine, 64), 16, 8);
  std::set<std::pair<int, int>> ways;
  for (int node = 4; node < 8; ++node) {
    for (int nic = 0; nic < 8; ++nic) {
      const int uplink = (node - 4) * 8 + nic;
      EXPECT_EQ(spine_of(sized.topology, 16, 8, node, nic), uplink % 2);
      EXPECT_EQ(cable_of(sized.topology, 16, 8, node, nic), uplink / 2);
      ways.insert({uplink % 2, uplink / 2});
    }
  }
  EXPECT_EQ(ways.size(), 32U);
  EXPECT_EQ(cables_per_spine(sized.topology), 16);
}

}  // namespace
}  // namespace gradhaul

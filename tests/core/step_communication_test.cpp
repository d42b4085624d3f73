#include "core/step_communication.h"

#include <gtest/gtest.h>

namespace gradhaul {
namespace {

Cluster seen(int nodes, int ranks_per_node) {
  Cluster cluster;
  cluster.nodes = nodes;
  cluster.ranks_per_node = ranks_per_node;
  return cluster;
}

TEST(StepCommunication, OfAllRanksIsTheScenarios) {
  Communication plan;
  plan.ring_order = RingOrder::kListed;
  plan.listed_rings = {{0, 1, 2, 3}};
  plan.algorithm = Algorithm::kHierarchical;
  const Communication own = communication_in_group(plan, Collective::kAllReduce, seen(2, 2), 4);
  EXPECT_EQ(own.listed_rings, plan.listed_rings);
  EXPECT_EQ(own.ring_order, RingOrder::kListed);
  EXPECT_EQ(own.algorithm, Algorithm::kHierarchical);
}

TEST(StepCommunication, OfASmallerGroupListsNoRings) {
  Communication plan;
  plan.ring_order = RingOrder::kListed;
  plan.listed_rings = {{0, 1, 2, 3}};
  const Communication own = communication_in_group(plan, Collective::kAllReduce, seen(2, 1), 4);
  EXPECT_TRUE(own.listed_rings.empty());
  EXPECT_EQ(own.ring_order, RingOrder::kBalanced);
}

TEST(StepCommunication, WhatAGroupCannotRunIsARing) {
  Communication plan;
  plan.algorithm = Algorithm::kHierarchical;
  for (const Cluster& cluster : {seen(1, 8), seen(8, 1)}) {
    EXPECT_EQ(communication_in_group(plan, Collective::kAllReduce, cluster, 32).algorithm,
              Algorithm::kRing);
  }
  EXPECT_EQ(communication_in_group(plan, Collective::kReduceScatter, seen(4, 8), 32).algorithm,
            Algorithm::kRing);
  plan.algorithm = Algorithm::kDoubleBinaryTree;
  EXPECT_EQ(communication_in_group(plan, Collective::kAllReduce, seen(8, 1), 32).algorithm,
            Algorithm::kDoubleBinaryTree);
}

}  // namespace
}  // namespace gradhaul

// Background traffic: as much as asked, between whom the pattern says, and felt by those it meets.

#include "sim/background_traffic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "tests/sim/task_examples.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

BackgroundTraffic traffic_of(TrafficPattern pattern, double load, Bytes message = 8_KiB) {
  BackgroundTraffic traffic;
  traffic.name = "others";
  traffic.pattern = pattern;
  traffic.load = load;
  traffic.message = message;
  return traffic;
}

// GPUs that do nothing but last.
TaskGraphResult run_for(const Cluster& cluster, Duration time, const BackgroundTraffic& traffic) {
  TaskGraph graph;
  add_computation(graph, {0}, time);
  graph.background = {traffic};
  return run_tasks(cluster, graph);
}

double use_of(const TaskGraphResult& result, const std::string& name) {
  const auto found = std::find_if(result.resources.begin(), result.resources.end(),
                                  [&](const ResourceUse& use) { return use.name == name; });
  return found == result.resources.end() ? 0 : found->utilisation;
}

// A wire is busy for the share of the time that was asked for, headers included: InfiniBand's and
// RoCE's packets alike.
TEST(BackgroundTraffic, LoadsWiresAsAsked) {
  for (const NetworkKind kind : {NetworkKind::kInfiniband, NetworkKind::kIdeal}) {
    Cluster cluster = paired_cluster(4, 1);
    cluster.network.kind = kind;
    for (const double load : {0.1, 0.5, 0.8}) {
      for (const TrafficPattern pattern :
           {TrafficPattern::kPermutation, TrafficPattern::kAllToAll}) {
        const TaskGraphResult result = run_for(cluster, 1500_us, traffic_of(pattern, load));
        for (const char* nic : {"node0.nic0", "node1.nic0", "node2.nic0", "node3.nic0"}) {
          EXPECT_NEAR(use_of(result, nic), load, 0.01 * load) << nic;
        }
        EXPECT_NEAR(result.background[0].offered, load, 0.01 * load);
        EXPECT_EQ(result.background[0].sources, 4);
        EXPECT_EQ(result.background[0].held_back, 0);
      }
    }
  }
}

TEST(BackgroundTraffic, AnIncastLoadsItsDestination) {
  const Cluster cluster = paired_cluster(5, 1);
  const TaskGraphResult result =
      run_for(cluster, 3000_us, traffic_of(TrafficPattern::kIncast, 0.8));
  EXPECT_NEAR(use_of(result, "node0.nic0"), 0.8, 0.008);
  for (const char* nic : {"node1.nic0", "node2.nic0", "node3.nic0", "node4.nic0"}) {
    EXPECT_NEAR(use_of(result, nic), 0.2, 0.002) << nic;
  }
}

// More than the wire into the destination takes: that is busy all the time, and messages wait.
TEST(BackgroundTraffic, WhatTheNetworkDoesNotCarryIsHeldBack) {
  const Cluster cluster = paired_cluster(3, 1);
  BackgroundTraffic traffic = traffic_of(TrafficPattern::kPairs, 0.9, 20_KiB);
  traffic.pairs = {{1, 0}, {2, 0}};
  const TaskGraphResult result = run_for(cluster, 2000_us, traffic);
  EXPECT_GT(use_of(result, "node0.nic0"), 0.99);
  const BackgroundResult& background = result.background[0];
  EXPECT_NEAR(background.offered, 0.9, 0.01);
  EXPECT_NEAR(background.carried, 0.5, 0.04);  // up to 128 messages are under way
  EXPECT_GT(background.held_back, 0);
}

// Everybody sends to one other and hears from one other, at each NIC index by itself; another seed
// draws another one.
TEST(BackgroundTraffic, APermutationIsOne) {
  const Cluster cluster = paired_cluster(16, 2);
  std::set<std::vector<int>> drawn;
  for (const std::uint64_t seed : {1, 2, 3}) {
    const TrafficPlan plan =
        plan_traffic(cluster, traffic_of(TrafficPattern::kPermutation, 0.5), seed);
    ASSERT_EQ(plan.sources.size(), 32U);
    std::vector<int> destinations;
    for (const TrafficSource& source : plan.sources) {
      ASSERT_EQ(source.destinations.size(), 1U);
      const int destination = source.destinations[0];
      EXPECT_NE(destination, source.nic);
      EXPECT_EQ(destination % 2, source.nic % 2);
      destinations.push_back(destination);
    }
    drawn.insert(destinations);
    std::sort(destinations.begin(), destinations.end());
    EXPECT_EQ(destinations, gpus_from(0, 32));
  }
  EXPECT_EQ(drawn.size(), 3U);
}

// One message in each interval; which moment and whom, by hash alone.
TEST(BackgroundTraffic, MessagesBeginOncePerInterval) {
  const Cluster cluster = paired_cluster(4, 1);
  const TrafficPlan plan = plan_traffic(cluster, traffic_of(TrafficPattern::kUniform, 0.3), 7);
  const std::int64_t interval = plan.sources[0].interval;
  std::vector<int> chosen(3, 0);
  for (std::int64_t count = 0; count < 3000; ++count) {
    const std::int64_t start = message_start(plan, 0, count, 7);
    EXPECT_EQ(start / interval, count);
    ++chosen[message_destination(plan, 0, count, 7)];
  }
  // Of 3000 draws among three each has 1000, give or take five deviations of 25.8.
  for (const int times : chosen) EXPECT_NEAR(times, 1000, 129);
}

TEST(BackgroundTraffic, NeedsSomebodyToSendTo) {
  EXPECT_THROW(plan_traffic(paired_cluster(1, 2), traffic_of(TrafficPattern::kPermutation, 0.5), 1),
               SimulationError);
}

// A job behind a wire that others take half of has the other half: from node 0 to node 1, both
// ways, through the one link between two leaves.
TEST(BackgroundTraffic, AJobGetsWhatItLeaves) {
  const Cluster cluster = two_ideal_leaves(4);
  Communication how;
  how.slot_size = 64_KiB;  // eight of which fill the way there and back, and not much of a queue
  how.channels = 1;
  TaskGraph graph;
  add_collective(graph, add_communicator(graph, {0, 2}, how), 32_MiB, Collective::kSendRecv);
  const Duration alone = run_tasks(cluster, graph).tasks[0].row.time;
  BackgroundTraffic traffic = traffic_of(TrafficPattern::kPairs, 0.4, 16_KiB);
  traffic.pairs = {{1, 3}, {3, 1}};
  graph.background = {traffic};
  const TaskGraphResult beside = run_tasks(cluster, graph);
  EXPECT_NEAR(beside.tasks[0].row.time.microseconds(), alone.microseconds() / 0.6,
              0.02 * alone.microseconds());
  ASSERT_FALSE(beside.shared_links.empty());
  EXPECT_EQ(beside.shared_links[0].bytes.size(), 2U);
}

}  // namespace
}  // namespace gradhaul

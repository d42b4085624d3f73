// The solver's shares, and the dates that follow from them, where they can be worked out by hand.

#include "sim/flow_solver.h"

#include <gtest/gtest.h>

#include "core/channel_groups.h"
#include "core/topology_size.h"
#include "sim/flow_dates.h"
#include "tests/sim/cluster_examples.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

constexpr std::int64_t kMillisecond = 1'000'000'000;  // ps

// Conveyors between two ideal nodes, with no latency of their own.
class FlowSolver : public testing::Test {
 protected:
  void add(std::int64_t units, double alone, std::vector<std::int32_t> shared) {
    Conveyor conveyor;
    conveyor.hop = {.source = 0, .destination = 1, .source_nic = 0, .destination_nic = 0};
    conveyor.units = conveyor.last_units = units;
    plan_.conveyors.push_back(conveyor);
    FlowPath path;
    path.alone.units_per_second = alone;
    path.shared = std::move(shared);
    paths_.paths.push_back(path);
  }
  std::int64_t run() {
    const Fabric fabric(ideal_cluster(2));
    HopLatency latency(fabric, 1);
    FlowBlame costs(plan_, paths_, fabric, 1, latency);
    FlowProgress progress(plan_, paths_, costs, true);
    EXPECT_TRUE(run_flows(plan_, paths_, progress, [] { return true; }));
    return progress.end();
  }
  FlowPlan plan_;
  FlowPaths paths_;
};

TEST_F(FlowSolver, TakesWhatAFlowAloneTakes) {
  add(1'000'000, 1e9, {});
  EXPECT_EQ(run(), kMillisecond);
}

TEST_F(FlowSolver, SharesEvenly) {
  paths_.shared = {{1e9, kNoResource}};
  add(1'000'000, 1e12, {0});
  add(1'000'000, 1e12, {0});
  EXPECT_EQ(run(), 2 * kMillisecond);
}

// One takes 0.2 of the link at most; the other gets the 0.8 left, and is done first.
TEST_F(FlowSolver, LeavesToOthersWhatAFlowCannotUse) {
  paths_.shared = {{1e9, kNoResource}};
  add(1'000'000, 0.2e9, {0});
  add(1'000'000, 1e12, {0});
  EXPECT_EQ(run(), 5 * kMillisecond);
}

// The short one is done after 1 ms at half the rate; the long one then has the link for itself.
TEST_F(FlowSolver, GivesAShareBackWhenAFlowEnds) {
  paths_.shared = {{1e9, kNoResource}};
  add(500'000, 1e12, {0});
  add(1'500'000, 1e12, {0});
  EXPECT_EQ(run(), 2 * kMillisecond);
}

// Max-min: the flow that crosses both links gets half of the narrow one, not a third of the wide.
TEST_F(FlowSolver, IsMaxMinFair) {
  paths_.shared = {{0.6e9, kNoResource}, {1e9, kNoResource}};
  add(300'000, 1e12, {0, 1});
  add(300'000, 1e12, {0});
  add(700'000, 1e12, {1});
  EXPECT_EQ(run(), kMillisecond);
}

TEST_F(FlowSolver, TransfersOfAConveyorFollowEachOther) {
  add(1'000'000, 1e9, {});
  plan_.conveyors[0].transfers = 3;
  plan_.conveyors[0].last_units = 500'000;
  EXPECT_EQ(run(), kMillisecond * 5 / 2);
}

// The second passes on what the first brings, from its first slice on, and is done one slice after.
TEST_F(FlowSolver, PassesOnWhatComes) {
  add(1'000'000, 1e9, {});
  add(1'000'000, 4e9, {});
  plan_.conveyors[0].first = {3'000'000};
  plan_.conveyors[1].first = {2'000'000};
  paths_.paths[0].pace = {1'000'000};
  paths_.paths[1].pace = {500'000};
  plan_.conveyors[1].inputs = {{0, 0}};
  for (Conveyor& conveyor : plan_.conveyors) conveyor.slice = {0};
  // End of the first flow, 2 us behind its slowest stage; then 2 us for the last slice.
  EXPECT_EQ(run(), kMillisecond + 2'000'000 + 2'000'000);
}

TEST_F(FlowSolver, EndsWhenTold) {
  add(1'000'000, 1e9, {});
  plan_.conveyors[0].transfers = 100'000;
  plan_.conveyors[0].last_units = 1'000'000;
  const Fabric fabric(ideal_cluster(2));
  HopLatency latency(fabric, 1);
  FlowBlame costs(plan_, paths_, fabric, 1, latency);
  FlowProgress progress(plan_, paths_, costs, true);
  EXPECT_FALSE(run_flows(plan_, paths_, progress, [] { return false; }));
}

// --- Recurrence ---------------------------------------------------------------------------------

class FlowDatesOf : public testing::Test {
 protected:
  void add_steps(std::int64_t steps, std::int64_t period_ps, std::int64_t odd_ps) {
    for (std::int64_t step = 0; step < steps; ++step) {
      for (const std::int32_t conveyor : {0, 1}) {
        const std::int64_t start = step * period_ps + step % 2 * odd_ps + conveyor * 7;
        dates_.add_start(conveyor, step, start);
        dates_.add_arrival(conveyor, step, start + 50);
      }
    }
  }
  FlowDates dates_{2};
};

TEST_F(FlowDatesOf, EqualStepsRecurEveryStep) {
  add_steps(20, 1000, 0);
  const auto found = dates_.recurrence(20, 8);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->period, 1);
  EXPECT_EQ(found->spread, 0);
}

TEST_F(FlowDatesOf, AlternatingStepsRecurEveryOther) {
  add_steps(20, 1000, 100);
  const auto found = dates_.recurrence(20, 8);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->period, 2);
}

TEST_F(FlowDatesOf, OneStepThatDiffersIsNoRecurrence) {
  add_steps(20, 1000, 0);
  dates_.add_arrival(1, 15, 15 * 1000 + 7 + 60);
  EXPECT_FALSE(dates_.recurrence(20, 8).has_value());
}

TEST_F(FlowDatesOf, TooFewStepsAreNoRecurrence) {
  add_steps(20, 1000, 0);
  EXPECT_FALSE(dates_.recurrence(8, 8).has_value());
  EXPECT_TRUE(dates_.recurrence(9, 8).has_value());
}

// Two conveyors that go on at different speeds.
TEST_F(FlowDatesOf, DifferentPacesAreNoRecurrence) {
  for (std::int64_t step = 0; step < 20; ++step) {
    for (const std::int32_t conveyor : {0, 1}) {
      dates_.add_start(conveyor, step, step * (1000 + 10 * conveyor));
      dates_.add_arrival(conveyor, step, step * (1000 + 10 * conveyor) + 5);
    }
  }
  EXPECT_FALSE(dates_.recurrence(20, 8).has_value());
}

// --- What is carried, and how fast --------------------------------------------------------------

struct Planned {
  explicit Planned(PredictionRequest asked)
      : request(std::move(asked)),
        fabric(request.cluster),
        placement(place(request.cluster, request.communication, request.workload.collective)),
        latency(fabric, placement.ranks_per_node) {
    const std::int64_t count =
        request.workload.sizes[0].count / size_of(request.workload.datatype).count;
    plan = make_flow_plan(request, placement, count, latency);
    paths =
        find_flow_paths(request, placement, plan, count_load(request, fabric, placement, count));
  }
  PredictionRequest request;
  Fabric fabric;
  Placement placement;
  HopLatency latency;
  FlowPlan plan;
  FlowPaths paths;
};

// 16 channels of 8 NICs: two of each path.
TEST(ChannelGroups, AreChannelsWithTheSameWays) {
  const Cluster cluster = one_switch(hgx_h100(), 2, 400_Gbps);
  Communication communication;
  communication.channels = 16;
  const Placement placement = place(cluster, communication, Collective::kAllReduce);
  const auto groups = channel_groups(placement, cluster);
  ASSERT_EQ(groups.size(), 8U);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const int first = static_cast<int>(i);
    EXPECT_EQ(groups[i], (std::vector<int>{first, first + 8}));
  }
}

TEST(ChannelGroups, CountsWhatGoesFromRankToRank) {
  EXPECT_EQ(grouped_connections(8, 32, Collective::kAllReduce, Algorithm::kRing), 8 * 32);
  EXPECT_EQ(grouped_connections(2, 5, Collective::kAllReduce, Algorithm::kDoubleBinaryTree), 32);
  EXPECT_EQ(grouped_connections(3, 10, Collective::kAllToAll, Algorithm::kRing), 270);
  EXPECT_EQ(grouped_connections(2, 5, Collective::kAllReduce, Algorithm::kTree), 16);
  EXPECT_EQ(grouped_connections(2, 8, Collective::kAllReduce, Algorithm::kHalvingDoubling), 96);
  // Of 8 ranks on 2 nodes: 2 * 3 within, there and back, and 2 across; then once 2 * 3 and 1.
  EXPECT_EQ(grouped_connections(1, 8, Collective::kAllReduce, Algorithm::kHierarchical, 4), 112);
  EXPECT_EQ(grouped_connections(1, 8, Collective::kAllToAll, Algorithm::kHierarchical, 4), 56);
}

// A wire of 50 GB/s with 26 bytes a packet, 20 more a message; acknowledgements and credits of as
// many messages the other way, 30 + 46 + 30 bytes each.
TEST(FlowPaths, WiresCarryPayloadBesideTheirHeaders) {
  PredictionRequest request = request_for(bare_wire(400_Gbps, 4096_B), 64_MiB);
  request.workload.collective = Collective::kSendRecv;
  request.communication.channels = 1;
  const Planned planned(request);
  const double slice = 512.0 * 1024;
  const double wire = slice + 128 * 26 + 20 + 30 + 46 + 30;
  const double expected = 50e9 * slice / wire * kFlowUnitsPerByte;
  ASSERT_EQ(planned.paths.paths.size(), 2U);
  EXPECT_NEAR(planned.paths.paths[0].alone.units_per_second, expected, expected * 1e-6);
  EXPECT_TRUE(planned.paths.shared.empty());
}

TEST(FlowPlan, DoesNotGrowWithTheMessage) {
  const Cluster cluster = one_switch(hgx_h100(), 2, 400_Gbps);
  const Planned small(request_for(cluster, 1_MiB));
  const Planned large(request_for(cluster, {std::int64_t{1} << 40}));
  EXPECT_EQ(small.plan.conveyors.size(), large.plan.conveyors.size());
  EXPECT_EQ(large.plan.conveyors.size(), 8U * 16);
}

// All that a channel group sends in a ring, to a unit for each transfer.
TEST(FlowPlan, CarriesWhatTheRingSends) {
  const Planned planned(request_for(one_switch(hgx_h100(), 2, 400_Gbps), 64_MiB));
  std::int64_t units = 0;
  std::int64_t transfers = 0;
  for (const Conveyor& conveyor : planned.plan.conveyors) {
    units += conveyor.all_units();
    transfers += conveyor.transfers;
  }
  EXPECT_EQ(transfers, 8 * 16 * 30);
  const std::int64_t expected = (64_MiB).count * 30 * kFlowUnitsPerByte;
  EXPECT_NEAR(static_cast<double>(units), static_cast<double>(expected),
              static_cast<double>(transfers));
}

TEST(FlowPlan, RefusesMoreThanItHasRoomFor) {
  PredictionRequest request = request_for(one_switch(bare_node(1, 5), 400, 400_Gbps), 64_MiB);
  request.cluster.network.topology.leaves = 0;
  request.cluster.network.topology =
      size_topology(request.cluster.network, request.cluster.nodes, 1).topology;
  request.workload.collective = Collective::kAllToAll;
  request.communication.channels = 1;
  EXPECT_THROW(Planned{request}, SimulationError);
}

}  // namespace
}  // namespace gradhaul

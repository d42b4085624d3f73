// What the model makes of a calibration's samples, where the values are known.

#include "sim/calibration_model.h"

#include <gtest/gtest.h>

#include "tests/sim/cluster_examples.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

// Of one GPU and one NIC a node, which take so long from a post until the peer knows and nothing
// else; as fast as it gets, so that bytes count for nothing.
Cluster cluster_of(int nodes, Duration latency) {
  Cluster cluster;
  cluster.nodes = nodes;
  cluster.node.nic = NicModel{};
  cluster.node.gpu = GpuModel{};
  cluster.node.nic.transmit_latency = cluster.node.nic.receive_latency = {latency.ps / 2};
  cluster.node.root_complex.latency = cluster.node.host_memory_latency = {};
  cluster.network.kind = NetworkKind::kIdeal;
  cluster.network.node_cable_metres = cluster.network.spine_cable_metres = 0;
  cluster.network.switch_latency = cluster.network.credit_return = {};
  cluster.network.vl_buffer = {};
  return cluster;
}

CalibrationSample sample(CalibrationKind kind, Bytes size) {
  return {.kind = kind, .size = size, .median = 20_us};
}

// A rank's thread takes three turns for each slice: it posts one, learns that it is done, and
// learns that one has come. Slots are given back at no cost where the network is ideal.
TEST(CalibrationModel, HasThreadsTakeThreeTurnsForASlice) {
  Calibration found;
  found.samples = {sample(CalibrationKind::kStep, {8})};
  for (const int ranks : {2, 4}) {
    SCOPED_TRACE(ranks);
    const CalibrationModel model(cluster_of(ranks, {}), false, {.slots = 8, .slices = 64});
    EXPECT_LT(model.slice_time(found, {}), 100_ns);
    EXPECT_NEAR(static_cast<double>(model.slice_time(found, 4_us).ps), 12e6, 0.02 * 12e6);
  }
}

TEST(CalibrationModel, KnowsOfWritesAndOfTheRingAlone) {
  Calibration found;
  found.samples = {sample(CalibrationKind::kLatency, {8}), sample(CalibrationKind::kReduce, {8}),
                   sample(CalibrationKind::kStep, {8})};
  for (const bool gpu_memory : {false, true}) {
    const CalibrationModel model(cluster_of(2, 4_us), gpu_memory, {.slots = 8, .slices = 64});
    const auto times = model.times(found, 1_us);
    ASSERT_EQ(times.size(), 3U);
    ASSERT_TRUE(times[0]);
    // And 8 B by the link.
    EXPECT_NEAR(static_cast<double>(times[0]->ps), 4e6, 0.01 * 4e6);
    EXPECT_FALSE(times[1]);
    EXPECT_EQ(times[2], model.slice_time(found, 1_us));
  }
  EXPECT_EQ(CalibrationModel(cluster_of(2, 4_us), false, {}).slice_time(Calibration{}, 1_us),
            Duration{});
}

}  // namespace
}  // namespace gradhaul

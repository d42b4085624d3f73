// Communication threads at another socket than the GPU they serve: each word between them crosses
// the link between the sockets.

#include <gtest/gtest.h>

#include "sim/fabric.h"
#include "sim/predict.h"
#include "tests/sim/cluster_examples.h"
#include "tests/sim/same_prediction.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

using At = ThreadPlacement::At;

// Two nodes of two sockets, GPU 0 and NIC 0 at the first, GPU 1 and NIC 1 at the second.
Cluster two_sockets() {
  Cluster cluster = one_switch(bare_node(2, 5), 2, 400_Gbps);
  give_latencies(cluster.node);
  cluster.node.sockets = 2;
  cluster.node.pcie[1].parent = "socket1";
  cluster.node.socket_link = {90_GBps, 100_ns};
  cluster.node.nvlink = Nvlink{450_GBps, 0.824, 700_ns};
  cluster.ranks_per_node = 1;
  return cluster;
}

// One message, from node 0 to node 1.
Prediction one_message(const Cluster& cluster, Fidelity fidelity = Fidelity::kPacket) {
  PredictionRequest request = request_for(cluster, {8});
  request.workload.collective = Collective::kBroadcast;
  request.communication.channels = 1;
  request.fidelity = fidelity;
  return predict(request);
}

Cluster placed(ThreadPlacement threads) {
  Cluster cluster = two_sockets();
  cluster.threads = threads;
  return cluster;
}

double socket_link_ns(const Prediction& prediction, const std::string& name) {
  double ns = 0;
  for (const TimePart& part : prediction.rows.at(0).parts) {
    if (part.resource == name) ns += static_cast<double>(part.time.ps) / 1e3;
  }
  return ns;
}

// The sender's kernel tells its thread, that rings the doorbell, and the NIC fetches the work
// request: one, one and two crossings. The completion crosses, and the flag to the kernel.
TEST(ThreadPlacement, CrossesTheSocketLinkSixTimesAMessage) {
  for (const Fidelity fidelity : {Fidelity::kPacket, Fidelity::kFlow, Fidelity::kAnalytic}) {
    const double near = row_us(one_message(two_sockets(), fidelity));
    const Prediction far = one_message(placed({At::kOther, 0}), fidelity);
    EXPECT_NEAR(row_us(far) - near, 6 * 0.1, 1e-6);
    EXPECT_DOUBLE_EQ(socket_link_ns(far, "node0.socket_link"), 4 * 100);
    EXPECT_DOUBLE_EQ(socket_link_ns(far, "node1.socket_link"), 2 * 100);
  }
}

TEST(ThreadPlacement, AtOneSocketIsNearForItsGpusAlone) {
  const double near = row_us(one_message(two_sockets()));
  EXPECT_DOUBLE_EQ(row_us(one_message(placed({At::kOne, 0}))), near);
  EXPECT_NEAR(row_us(one_message(placed({At::kOne, 1}))) - near, 0.6, 1e-6);
  const Fabric fabric(placed({At::kOne, 1}));
  EXPECT_EQ(fabric.host_socket(0, 0), 1);
  EXPECT_EQ(fabric.host_socket(1, 1), 1);
  EXPECT_EQ(fabric.thread_detour(0, 0), 100_ns);
  EXPECT_EQ(fabric.thread_detour(1, 1), Duration{});
}

// A fault of every node is the same; and of one that is bound elsewhere anyway, its repair.
TEST(ThreadPlacement, IsAFaultOfAllNodes) {
  Cluster faulty = two_sockets();
  faulty.faults.far_threads = {0, 1};
  const Prediction placed_there = one_message(placed({At::kOther, 0}));
  EXPECT_EQ(row_us(one_message(faulty)), row_us(placed_there));
  EXPECT_EQ(one_message(faulty).digest, placed_there.digest);
  faulty.threads = {At::kOther, 0};
  EXPECT_EQ(row_us(one_message(faulty)), row_us(one_message(two_sockets())));
}

// Staged data lies at the thread's socket.
TEST(ThreadPlacement, HasStagedDataCrossTheSocketLink) {
  PredictionRequest request = request_for(two_sockets(), 1_MiB);
  request.workload.collective = Collective::kBroadcast;
  request.communication.channels = 1;
  request.communication.gpudirect = GpuDirect::kOff;
  const auto crossed = [&] {
    for (const ResourceUse& use : predict(request).resources) {
      if (use.name == "node0.socket_link") return use.bytes.count;
    }
    return std::int64_t{0};
  };
  EXPECT_EQ(crossed(), 0);
  request.cluster.threads = {At::kOther, 0};
  EXPECT_GE(crossed(), 2 << 20);  // from the GPU, and to the NIC
}

// All steps of a ring, by both engines.
TEST(ThreadPlacement, IsSteppedAlikeByBothEngines) {
  PredictionRequest request = request_for(placed({At::kOne, 1}), 4_MiB);
  request.cluster.ranks_per_node = 2;
  const Prediction first = predict(request);
  request.stepping = Stepping::kEvents;
  EXPECT_EQ(predict(request).digest, first.digest);
  expect_same_run(in_full(request), predict(request));
}

}  // namespace
}  // namespace gradhaul

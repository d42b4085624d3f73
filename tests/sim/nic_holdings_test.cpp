// What plans hold of NICs and of GPUs, counted by hand, and the same in every fidelity.

#include "sim/nic_holdings.h"

#include <gtest/gtest.h>

#include "core/topology_size.h"
#include "sim/predict.h"
#include "tests/sim/cluster_examples.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

// Five GPUs with a NIC each, and each sends to the four others: of a connection two queue pairs for
// data and one for credits, at both of its ends.
PredictionRequest exchange() {
  Node node = bare_node(1, 5);
  give_latencies(node);
  PredictionRequest request = request_for(one_switch(node, 5, 400_Gbps), 1_MiB);
  request.workload.collective = Collective::kAllToAll;
  request.communication.channels = 1;
  request.communication.queue_pairs = 2;
  request.communication.slots = 4;
  request.communication.slot_size = 64_KiB;
  return request;
}

TEST(NicHoldings, OfAnExchangeAreThoseOfEachPair) {
  PredictionRequest request = exchange();
  for (const Fidelity fidelity : {Fidelity::kPacket, Fidelity::kFlow, Fidelity::kAnalytic}) {
    request.fidelity = fidelity;
    const ResultRow row = predict(request).rows.at(0);
    EXPECT_EQ(row.held.gpu_sms, 1);
    EXPECT_EQ(row.held.queue_pairs_per_nic, (4 + 4) * (2 + 1));
    EXPECT_EQ(row.held.queue_pairs, 5 * (4 + 4) * (2 + 1));
    EXPECT_EQ(row.held.registered, row.size + 64_KiB * 4 * 4);
  }
}

// 24 ends of queue pairs are made at a millisecond each, and 64 KiB pages are registered in 130 us
// and 750 ns a page: 16 of the message, and as many of 16 slots.
TEST(NicHoldings, AreSetUpOneAfterTheOther) {
  PredictionRequest request = exchange();
  request.cluster.node.nic.queue_pair_setup = 1000_us;
  for (const Fidelity fidelity : {Fidelity::kPacket, Fidelity::kFlow, Fidelity::kAnalytic}) {
    request.fidelity = fidelity;
    const SetupTime setup = predict(request).rows.at(0).setup;
    EXPECT_EQ(setup.queue_pairs, 24 * 1000_us);
    EXPECT_EQ(setup.registration, 2 * (130_us + 16 * 750_ns));
  }
  // What each collective registers is none of it; a cache is filled by the first.
  request.fidelity = Fidelity::kPacket;
  request.communication.registering = Registering::kPerTransfer;
  EXPECT_EQ(predict(request).rows.at(0).setup.registration, 130_us + 16 * 750_ns);
  request.communication.registering = Registering::kCached;
  EXPECT_EQ(predict(request).rows.at(0).setup.registration, 2 * (130_us + 16 * 750_ns));
}

// Lines of LL are half flags.
TEST(NicHoldings, HoldFlagsOfLines) {
  PredictionRequest request = exchange();
  request.communication.protocol = Protocol::kLl;
  const ResultRow row = predict(request).rows.at(0);
  EXPECT_EQ(row.held.registered, row.size + 64_KiB * 2 * 4 * 4);
}

// The server takes from all others and gives to them; each of these knows the server alone.
TEST(NicHoldings, AreThoseOfTheBusiestNicAndRank) {
  PredictionRequest request = exchange();
  request.workload.collective = Collective::kAllReduce;
  request.communication.algorithm = Algorithm::kParameterServer;
  const ResultRow row = predict(request).rows.at(0);
  EXPECT_EQ(row.held.queue_pairs_per_nic, (4 + 4) * 3);
  EXPECT_EQ(row.held.queue_pairs, 2 * (4 + 4) * 3);
  EXPECT_EQ(row.held.registered, row.size + 64_KiB * 4 * 4);
}

// Sockets are no queue pairs, and the kernel's buffers are registered with no NIC.
TEST(NicHoldings, OfTcpAreNone) {
  PredictionRequest request = exchange();
  request.cluster.node = hgx_h100();
  request.cluster.ranks_per_node = 8;
  request.cluster.nodes = 2;
  request.cluster.network.kind = NetworkKind::kEthernet;
  request.cluster.network.tcp = TcpSettings{};
  request.communication.gpudirect = GpuDirect::kOff;
  for (const Fidelity fidelity : {Fidelity::kPacket, Fidelity::kFlow, Fidelity::kAnalytic}) {
    request.fidelity = fidelity;
    const ResultRow row = predict(request).rows.at(0);
    EXPECT_EQ(row.held.gpu_sms, 1);
    EXPECT_EQ(row.held.queue_pairs, 0);
    EXPECT_EQ(row.held.queue_pairs_per_nic, 0);
    EXPECT_EQ(row.held.registered.count, 0);
    EXPECT_EQ(row.setup, SetupTime{});
  }
}

// Nothing goes by a NIC.
TEST(NicHoldings, OfOneNodeAreNone) {
  Cluster cluster = one_switch(hgx_h100(), 1, 400_Gbps);
  PredictionRequest request = request_for(cluster, 1_MiB);
  request.communication.channels = 3;
  const ResultRow row = predict(request).rows.at(0);
  EXPECT_EQ(row.held.gpu_sms, 3);
  EXPECT_EQ(row.held.queue_pairs, 0);
  EXPECT_EQ(row.held.registered.count, 0);
  EXPECT_EQ(row.setup, SetupTime{});
}

}  // namespace
}  // namespace gradhaul

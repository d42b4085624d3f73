// TCP by flows and by closed forms, beside its packets: what one message costs between idle hosts,
// what their cores carry, and how near the three answers are.

#include <gtest/gtest.h>

#include <cmath>

#include "core/network_framing.h"
#include "core/topology_size.h"
#include "sim/hop_latency.h"
#include "sim/predict.h"
#include "tests/sim/cluster_examples.h"
#include "tests/sim/write_stream.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

Cluster tcp_cluster(int nodes, BitRate link, std::int64_t mtu, int sockets = 1, int cores = 1) {
  TcpSettings tcp;
  tcp.sockets = sockets;
  tcp.cores = cores;
  return sockets_cluster(nodes, link, {mtu - kTcpIpHeaders.count}, tcp);
}

PredictionRequest request_by(Fidelity fidelity, const Cluster& cluster, Bytes size) {
  PredictionRequest request = request_for(cluster, size);
  request.fidelity = fidelity;
  request.communication.gpudirect = GpuDirect::kOff;
  request.communication.tcp = cluster.network.tcp;
  return request;
}

double us_by(Fidelity fidelity, PredictionRequest request) {
  request.fidelity = fidelity;
  return row_us(predict(request));
}

MessageTime idle_message(const Cluster& cluster, Bytes size) {
  Communication communication;
  communication.channels = 1;
  communication.gpudirect = GpuDirect::kOff;
  const Fabric fabric(cluster);
  const Placement placement = place(cluster, communication, Collective::kSendRecv);
  HopLatency latency(fabric, 1, communication);
  return latency.message(hop_between(placement, cluster, 0, 0, cluster.ranks() - 1), size);
}

// To the picosecond where stages follow each other: a train is copied out, copied by a core, sent,
// received and copied again. Several overlap, and wait for each other now and then.
TEST(TcpFidelities, KnowWhatAMessageCosts) {
  for (const std::int64_t mtu : {1500, 9000}) {
    const Cluster cluster = tcp_cluster(2, 100_Gbps, mtu);
    for (const std::int64_t bytes : {8, 1'000, 5'000}) {
      const WriteStream stream(cluster, {.length = {bytes}, .gpudirect = GpuDirect::kOff});
      EXPECT_EQ(idle_message(cluster, {bytes}).arrived.ps, stream.arrived().at(0)) << bytes;
      EXPECT_EQ(idle_message(cluster, {bytes}).done.ps, stream.done().at(0)) << bytes;
    }
    for (const std::int64_t bytes : {60'000, 200'000, 1'000'000}) {
      const WriteStream stream(cluster, {.length = {bytes}, .gpudirect = GpuDirect::kOff});
      const auto simulated = static_cast<double>(stream.arrived().at(0));
      EXPECT_NEAR(static_cast<double>(idle_message(cluster, {bytes}).arrived.ps), simulated,
                  0.005 * simulated)
          << bytes;
    }
  }
}

// One way, nothing shared: within 5 % of the packets, whatever limits: a core, several, the link.
TEST(TcpFidelities, AgreeWhereNothingIsShared) {
  struct Case {
    BitRate link;
    std::int64_t mtu;
    int sockets;
    int cores;
  };
  for (const Case& each : {Case{100_Gbps, 9000, 1, 1}, Case{100_Gbps, 1500, 1, 1},
                           Case{100_Gbps, 9000, 2, 2}, Case{10_Gbps, 9000, 1, 1}}) {
    PredictionRequest request = request_by(
        Fidelity::kPacket, tcp_cluster(2, each.link, each.mtu, each.sockets, each.cores), 32_MiB);
    request.workload.collective = Collective::kBroadcast;
    request.communication.channels = 1;
    request.communication.slot_size = {8 * 62'636};
    const double packets = us_by(Fidelity::kPacket, request);
    EXPECT_NEAR(us_by(Fidelity::kFlow, request), packets, 0.05 * packets) << each.sockets;
    EXPECT_NEAR(us_by(Fidelity::kAnalytic, request), packets, 0.05 * packets) << each.sockets;
  }
}

// A receiving core has each slice's aggregates to copy, and its slot to give back.
TEST(TcpFidelities, ACoreCarriesItsClosedForm) {
  constexpr std::int64_t kAggregate = 62'636;  // seven packets
  constexpr std::int64_t kSlice = 8 * kAggregate;
  const double receive = kAggregate / 7.5 * 1e-3 + 2.5 + 0.2 + 7 * 0.15;  // us
  const double credit = 8 / 10.0 * 1e-3 + 2.5 + 0.2;
  for (const Fidelity fidelity : {Fidelity::kFlow, Fidelity::kAnalytic}) {
    PredictionRequest request =
        request_by(fidelity, tcp_cluster(2, 400_Gbps, 9000), {2000 * kSlice});
    request.workload.collective = Collective::kBroadcast;
    request.communication.channels = 1;
    request.communication.slot_size = {kSlice};
    const Prediction prediction = predict(request);
    const ResultRow& row = prediction.rows.at(0);
    const double expected = 2000 * (8 * receive + credit);
    EXPECT_NEAR(row.time.microseconds(), expected, 0.001 * expected) << prediction.fidelity;
    EXPECT_EQ(row.limited_by, "node1.gpu0.thread");
    EXPECT_NEAR(row.cpu_cores, 1, 1e-9);
  }
}

// Rings, whose ranks send and receive by the same cores: within a quarter, and within what the
// prediction says of itself.
TEST(TcpFidelities, AreNearForRings) {
  for (const int cores : {1, 4}) {
    PredictionRequest request =
        request_by(Fidelity::kPacket, tcp_cluster(4, 100_Gbps, 9000, cores, cores), 16_MiB);
    request.communication.channels = 1;
    request.communication.slot_size = {4 * 62'636};
    const double packets = us_by(Fidelity::kPacket, request);
    for (const Fidelity fidelity : {Fidelity::kFlow, Fidelity::kAnalytic}) {
      request.fidelity = fidelity;
      const Prediction prediction = predict(request);
      const double error = std::abs(row_us(prediction) - packets);
      EXPECT_LT(error, 0.25 * packets) << cores;
      EXPECT_LE(error, prediction.error_bound->microseconds()) << cores;
    }
  }
}

// Whoever takes data in and hands it on has one core for both, and gives its slots back by that,
// too.
TEST(TcpFidelities, SayHowFarOffTheyAreWhereSlotsAreFew) {
  for (const int nodes : {2, 6}) {
    for (const int slots : {1, 3}) {
      PredictionRequest request =
          request_by(Fidelity::kPacket, tcp_cluster(nodes, 200_Gbps, 2044), 8_MiB);
      request.workload.collective = Collective::kBroadcast;
      request.communication.slots = slots;
      request.communication.slot_size = 512_KiB;
      const double packets = row_us(predict(request));
      for (const Fidelity fidelity : {Fidelity::kFlow, Fidelity::kAnalytic}) {
        request.fidelity = fidelity;
        const Prediction prediction = predict(request);
        EXPECT_NEAR(row_us(prediction), packets, prediction.error_bound->microseconds())
            << nodes << " nodes, " << slots << " slots";
      }
    }
  }
}

}  // namespace
}  // namespace gradhaul

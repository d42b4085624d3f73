// Counters under the names of real ports, by hand.

#include "sim/host_counters.h"

#include <gmock/gmock.h>

#include "core/host_counter_names.h"
#include "sim/predict.h"
#include "tests/sim/cluster_examples.h"
#include "tests/sim/roce_examples.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)
using testing::ElementsAre;
using testing::Pair;

// One write of 4096 bytes each way.
PredictionRequest one_write(Cluster cluster) {
  PredictionRequest request = request_for(cluster, {4096});
  request.workload.collective = Collective::kSendRecv;
  request.communication.channels = 1;
  return request;
}

// A write with its address, key and length (16 B) and immediate data (4 B), and the acknowledgement
// (4 B) of the other one; each with LRH, BTH and ICRC, 24 B. The slot is given back after the end.
TEST(HostCounters, CountWordsOfInfiniBandPackets) {
  Cluster cluster = bare_pair(5, 400_Gbps, {4096});
  give_latencies(cluster.node);
  const Prediction prediction = predict(one_write(cluster));
  ASSERT_EQ(prediction.counters.size(), 2U);
  EXPECT_EQ(prediction.counters[1].port, "node1.nic0");
  constexpr int kWords = (4096 + 16 + 4 + 24 + 4 + 24) / 4;
  EXPECT_THAT(prediction.counters[0].as_on_host,
              ElementsAre(Pair("port_rcv_data", kWords), Pair("port_rcv_packets", 2),
                          Pair("port_xmit_data", kWords), Pair("port_xmit_packets", 2)));
}

// Ethernet, IP, UDP, BTH and ICRC: 14 + 20 + 8 + 12 + 4 B. Where kernels take no time, the slot is
// given back in the instant of the end (16 + 4 B).
TEST(HostCounters, CountWordsOfRocePackets) {
  const Prediction prediction = predict(one_write(roce_switch(2, 100_Gbps)));
  ASSERT_EQ(prediction.counters.size(), 2U);
  constexpr int kWords = (4096 + 16 + 4 + 58 + 4 + 58 + 16 + 4 + 58) / 4;
  EXPECT_EQ(prediction.counters[0].as_on_host.at("port_xmit_packets"), 3);
  EXPECT_EQ(prediction.counters[0].as_on_host.at("port_xmit_data"), kWords);
  EXPECT_EQ(prediction.counters[0].as_on_host.at("port_rcv_data"), kWords);
}

// Eight senders to one: its port pauses them by way of the switch, with the frames that the old
// names count.
TEST(HostCounters, CallPausesAndWaitsAsDriversDo) {
  PredictionRequest request = request_for(roce_switch(9, 100_Gbps), 16_MiB);
  request.communication.algorithm = Algorithm::kParameterServer;
  request.communication.channels = 1;
  std::int64_t paused = 0;
  for (const PortCounters& port : predict(request).counters) {
    const auto named = [&port](const char* name) {
      const auto found = port.as_on_host.find(name);
      return found == port.as_on_host.end() ? 0 : found->second;
    };
    EXPECT_EQ(named("rx_prio3_pause"), port.pfc_pause_frames) << port.port;
    EXPECT_EQ(named("tx_prio3_pause"), port.pfc_pause_frames_sent) << port.port;
    EXPECT_EQ(named("rx_prio3_pause_duration"), port.pfc_paused.ps / 1'000'000) << port.port;
    // Ticks of 64 bits at 100 Gb/s, 640 ps.
    EXPECT_EQ(named("port_xmit_wait"), port.xmit_wait.ps / 640) << port.port;
    if (port.port.starts_with("node")) paused += port.pfc_pause_frames;
  }
  EXPECT_GT(paused, 0);
}

// Every notification that is sent was for a marked packet, and slows somebody down; the last may be
// on their way.
TEST(HostCounters, CallCongestionAsNicsDo) {
  Cluster cluster = roce_switch(9, 100_Gbps);
  CongestionControl& congestion = cluster.network.congestion;
  congestion.dcqcn = true;
  congestion.kmin = {20'000};
  congestion.kmax = {60'000};
  congestion.notification_interval = 4_us;
  congestion.gain = 1.0 / 256;
  congestion.alpha_timer = 55_us;
  congestion.decrease_interval = 4_us;
  congestion.increase_timer = 300_us;
  congestion.additive_increase = 5_Gbps;
  congestion.hyper_increase = 50_Gbps;
  congestion.least_rate = 1_Gbps;
  PredictionRequest request = request_for(cluster, 4_MiB);
  request.communication.algorithm = Algorithm::kParameterServer;
  request.communication.channels = 1;
  std::int64_t sent = 0;
  std::int64_t handled = 0;
  std::int64_t marked = 0;
  for (const PortCounters& port : predict(request).counters) {
    for (const auto& [name, count] : port.as_on_host) {
      if (name == "np_cnp_sent") sent += count;
      if (name == "rp_cnp_handled") handled += count;
      if (name == "np_ecn_marked_roce_packets") marked += count;
      EXPECT_TRUE(is_predicted_counter(name)) << name;
    }
  }
  EXPECT_GT(handled, 0);
  EXPECT_GE(sent, handled);
  EXPECT_LE(sent, handled + 8);
  EXPECT_GE(marked, sent);
}

// Whoever receives a packet that was garbled counts it, under both names.
TEST(HostCounters, CallDamageAsPortsDo) {
  Cluster cluster = one_switch(bare_node(1, 5), 2, 400_Gbps);
  give_latencies(cluster.node);
  cluster.faults.errors = {{"node0.nic0", 2e-8}};
  PredictionRequest request = request_for(cluster, 64_MiB);
  request.communication.channels = 1;
  request.communication.timeout = 8;
  std::int64_t dropped = 0;
  std::int64_t symbols = 0;
  std::int64_t packets = 0;
  for (const PortCounters& port : predict(request).counters) {
    dropped += port.dropped;
    for (const auto& [name, count] : port.as_on_host) {
      if (name == "symbol_error") symbols += count;
      if (name == "port_rcv_errors") packets += count;
    }
  }
  EXPECT_GT(dropped, 0);
  EXPECT_EQ(symbols, dropped);
  EXPECT_EQ(packets, dropped);
}

}  // namespace
}  // namespace gradhaul

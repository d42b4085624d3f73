// TCP between hosts: what a core carries, what more cores and sockets do, where memory and wires
// end it, and what one short message takes; each by closed form.

#include <gtest/gtest.h>

#include <cmath>

#include "core/network_framing.h"
#include "core/topology_size.h"
#include "sim/predict.h"
#include "tests/sim/cluster_examples.h"
#include "tests/sim/path_oracle.h"
#include "tests/sim/write_stream.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

double ps_for(double bytes, double bytes_per_second) { return bytes / bytes_per_second * 1e12; }
double ps(Duration time) { return static_cast<double>(time.ps); }

// Two hosts back to back, over Ethernet with packets of this MTU.
Cluster tcp_pair(BitRate link, std::int64_t mtu, const TcpSettings& tcp = {}) {
  Cluster cluster = bare_pair(5, link, {mtu - kTcpIpHeaders.count});
  give_latencies(cluster.node);
  cluster.node.gpu.copy_setup = 6_us;
  cluster.node.host_memory_latency = 90_ns;
  cluster.network.kind = NetworkKind::kEthernet;
  cluster.network.tcp = tcp;
  return cluster;
}

TcpSettings many(int sockets, int cores) {
  TcpSettings tcp;
  tcp.sockets = sockets;
  tcp.cores = cores;
  return tcp;
}

// Bits a second between arrivals of long writes, of whole aggregates each.
double steady_gbps(const Cluster& cluster, int aggregates = 8) {
  const Bytes length = tcp_aggregate(cluster.network.mtu) * aggregates;
  constexpr int kWrites = 24;
  constexpr int kFirst = 11;
  const WriteStream stream(cluster,
                           {.length = length, .writes = kWrites, .gpudirect = GpuDirect::kOff});
  const std::int64_t time = stream.arrived().at(kWrites - 1) - stream.arrived().at(kFirst);
  return static_cast<double>(length.count) * 8 * (kWrites - 1 - kFirst) /
         static_cast<double>(time) * 1e3;
}

// Of so much: copy at 7.5 GB/s, 2.5 us an aggregate, 0.2 us a system call, 0.15 us a packet.
double receive_ps(double bytes, double packets) {
  return bytes / 7.5 * 1e3 + 2'500'000 + 200'000 + packets * 150'000;
}
double send_ps(double bytes) { return bytes / 10 * 1e3 + 2'500'000 + 200'000; }

// Cai et al., SIGCOMM 2021: some 42 Gb/s a core with all offloads and jumbo frames. Packets of
// 1500 bytes: 28.8 by the same costs.
TEST(Tcp, ACoreCarriesWhatIsPublished) {
  const auto rate = [](std::int64_t mtu) {
    const Bytes payload = Bytes{mtu} - kTcpIpHeaders;
    const Bytes bytes = tcp_aggregate(payload);
    return static_cast<double>(bytes.count) * 8 / ps(tcp_work({}, payload, bytes, true)) * 1e3;
  };
  EXPECT_NEAR(rate(9000), 41.9, 0.6);
  EXPECT_NEAR(rate(1500), 28.8, 0.4);
}

// 90 bytes beside what a packet carries, on both.
TEST(Tcp, FramesItsPackets) {
  EXPECT_EQ(kTcpOverEthernet.count, 8 + 14 + 20 + 20 + 12 + 4 + 12);
  EXPECT_EQ(kTcpOverInfiniband.count, 8 + 12 + 8 + 4 + 20 + 20 + 12 + 4 + 2);
  EXPECT_EQ(tcp_share_of_mtu(NetworkKind::kInfiniband).count, 4 + 52);
}

// One stream is as fast as the core that receives it, whatever the link.
TEST(Tcp, OneStreamIsAsFastAsItsCore) {
  const std::pair<std::int64_t, int> cases[] = {{9000, 7}, {1500, 45}};
  for (const auto& [mtu, packets] : cases) {
    const double bytes = static_cast<double>((mtu - 52) * packets);
    const double expected = bytes * 8 / receive_ps(bytes, packets) * 1e3;
    EXPECT_NEAR(steady_gbps(tcp_pair(400_Gbps, mtu)), expected, expected * 1e-3) << mtu;
  }
}

// N sockets on N cores carry N times as much, until the link is full; on fewer cores as much as
// these; and more cores than sockets are idle.
TEST(Tcp, CarriesAsMuchAsCoresOrTheLink) {
  const double one = 7.0 * 8948 * 8 / receive_ps(7 * 8948, 7) * 1e3;
  const double link = 100 * 8948.0 / (8948 + 90);
  EXPECT_NEAR(steady_gbps(tcp_pair(100_Gbps, 9000, many(2, 2))), 2 * one, 2 * one * 0.01);
  EXPECT_NEAR(steady_gbps(tcp_pair(100_Gbps, 9000, many(4, 4))), link, link * 2e-3);
  EXPECT_NEAR(steady_gbps(tcp_pair(100_Gbps, 9000, many(4, 2))), 2 * one, 2 * one * 0.01);
  EXPECT_NEAR(steady_gbps(tcp_pair(100_Gbps, 9000, many(1, 4))), one, one * 0.01);
}

// IPoIB: of a packet of 4096 bytes 4040 are data, and 4130 are on the wire.
TEST(Tcp, OverInfinibandIsIpoib) {
  Cluster cluster = tcp_pair(50_Gbps, 9000, many(4, 4));
  cluster.network.kind = NetworkKind::kInfiniband;
  cluster.network.mtu = Bytes{4096} - tcp_share_of_mtu(NetworkKind::kInfiniband);
  EXPECT_EQ(cluster.network.mtu.count, 4040);
  const double expected = 50 * 4040.0 / 4130;
  EXPECT_NEAR(steady_gbps(cluster), expected, expected * 2e-3);
}

// Without TSO and GRO, packet by packet: 1 to 1.5 us each with its copy, 8 to 12 Gb/s.
TEST(Tcp, WithoutOffloadsTakesEachPacket) {
  TcpSettings tcp;
  tcp.offloads = false;
  tcp.aggregate = {};
  tcp.packet = 1'050_ns;
  const double rate = steady_gbps(tcp_pair(100_Gbps, 1500, tcp));
  EXPECT_GT(rate, 8);
  EXPECT_LT(rate, 12);
  const double packet = 1448 / 7.5 * 1e3 + 1'050'000 + 200'000.0 / 45;
  EXPECT_NEAR(rate, 1448 * 8 / packet * 1e3, 0.02);
}

// Four passes through host memory for each byte, at either end: from the GPU, twice by the core,
// to the NIC.
TEST(Tcp, PassesHostMemoryFourTimes) {
  Cluster cluster = tcp_pair(400_Gbps, 9000, many(8, 8));
  cluster.node.host_memory_bandwidth = 16_GBps;
  EXPECT_NEAR(steady_gbps(cluster), 16.0 / 4 * 8, 0.5);
}

// Stage by stage, of one packet.
TEST(Tcp, TakesTheSumOfItsStages) {
  const Cluster cluster = tcp_pair(100_Gbps, 9000);
  const Node& node = cluster.node;
  const double pcie = oracle::pcie_bytes({5, 16}, 0.03);
  for (const double n : {2.0, 256.0, 4096.0}) {
    const double to_host = 20'000 + 105'000 + 20'000 + 300'000;
    const double posted = to_host + ps_for(n + 24 * std::ceil(n / 256), pcie);
    const double read = to_host + ps_for(24, pcie) + ps(node.host_memory_latency) + 145'000 +
                        ps_for(n + 20 * std::ceil(n / 64), pcie);
    double t = ps(node.gpu.flag_latency + node.gpu.copy_setup) + posted + send_ps(n);
    t += ps(node.nic.doorbell + node.nic.wqe_fetch) + read;
    t += ps(node.nic.transmit_latency) + 3 * 5'050.505 + ps_for(n + 90, 100e9 / 8);
    t += ps(node.nic.receive_latency) + posted + 3'500'000 + receive_ps(n, 1);
    t += ps(node.gpu.copy_setup) + read + ps(node.gpu.write_latency + node.gpu.flag_latency);
    const WriteStream stream(
        cluster, {.length = {static_cast<std::int64_t>(n)}, .gpudirect = GpuDirect::kOff});
    EXPECT_NEAR(static_cast<double>(stream.arrived().at(0)), t, 30) << n;
  }
}

// A rank's one core sends and receives; both ends of it are its time.
TEST(Tcp, BothDirectionsShareARanksCore) {
  PredictionRequest request = request_for(tcp_pair(400_Gbps, 9000), 16_MiB);
  request.workload.collective = Collective::kSendRecv;
  request.communication.gpudirect = GpuDirect::kOff;
  request.communication.channels = 1;
  request.communication.slot_size = {8 * 7 * 8948};
  const Prediction prediction = predict(request);
  const ResultRow& row = prediction.rows.at(0);
  const double bytes = 7 * 8948;
  const double aggregates = static_cast<double>((16_MiB).count) / bytes;
  // And the slots that are given back, short messages one way and the other.
  const double slots = std::ceil(aggregates / 8) * (send_ps(8) + receive_ps(8, 1));
  const double expected = aggregates * (send_ps(bytes) + receive_ps(bytes, 7)) + slots;
  EXPECT_NEAR(ps(row.time), expected, expected * 0.03);
  EXPECT_EQ(row.limited_by, "node0.gpu0.thread (2 equal)");
  EXPECT_DOUBLE_EQ(row.cpu_cores, 1);
  request.cluster.network.tcp = many(4, 4);
  const Prediction wide = predict(request);
  EXPECT_GT(wide.rows.at(0).cpu_cores, 2);
  EXPECT_LT(wide.rows.at(0).cpu_cores, 4);
  EXPECT_LT(wide.rows.at(0).time, row.time * 1);
}

// Every collective comes to its end, with what its channels make of cores that they share.
TEST(Tcp, CarriesCollectives) {
  for (const Collective collective : {Collective::kAllReduce, Collective::kAllToAll}) {
    for (const int sockets : {1, 3}) {
      Cluster cluster = paired_cluster(3, 2);
      cluster.network.kind = NetworkKind::kEthernet;
      cluster.network.mtu = {8948};
      cluster.network.tcp = many(sockets, 2);
      PredictionRequest request = request_for(cluster, 1_MiB);
      request.workload.collective = collective;
      request.communication.gpudirect = GpuDirect::kOff;
      if (collective == Collective::kAllToAll) {
        request.communication.algorithm = Algorithm::kPairwise;
      }
      const Prediction prediction = predict(request);
      std::int64_t parts = 0;
      for (const TimePart& part : prediction.rows.at(0).parts) parts += part.time.ps;
      EXPECT_EQ(parts, prediction.rows.at(0).time.ps);
    }
  }
}

// What a NIC holds of queue pairs is none of sockets' business.
TEST(Tcp, AsksForNoContexts) {
  Cluster cluster = paired_cluster(2, 2);
  cluster.network.kind = NetworkKind::kEthernet;
  cluster.network.mtu = {8948};
  cluster.network.tcp = many(1, 1);
  PredictionRequest request = request_for(cluster, 1_MiB);
  request.communication.gpudirect = GpuDirect::kOff;
  const Prediction plain = predict(request);
  request.cluster.node.nic.queue_pair_cache = 1;
  request.cluster.node.nic.memory_region_cache = 1;
  request.cluster.node.nic.queue_pair_rate = 10'000;
  const Prediction limited = predict(request);
  EXPECT_EQ(limited.digest, plain.digest);
  EXPECT_EQ(limited.rows.at(0).time, plain.rows.at(0).time);
}

// Nor is how it would find out what is lost: sockets put in order what overtook on other ways.
TEST(Tcp, SendsNothingAgainThatWasOvertaken) {
  Cluster cluster = paired_cluster(4, 2);
  Network& network = cluster.network;
  network.mtu = {4040};
  network.tcp = many(2, 2);
  network.topology = {};
  network.topology.kind = TopologyKind::kLeafSpine;
  network.topology.switch_ports = 16;
  network.topology.leaves = network.topology.spines = network.topology.uplinks_per_leaf = 2;
  network.oversubscription = 2;
  network.topology = size_topology(network, cluster.nodes, cluster.node.nic_count).topology;
  network.routing = Routing::kAdaptive;
  PredictionRequest request = request_for(cluster, 1_MiB);
  request.communication.gpudirect = GpuDirect::kOff;
  const Prediction plain = predict(request);
  for (const OutOfOrder order : {OutOfOrder::kPlace, OutOfOrder::kNak}) {
    for (const int timeout : {1, 20}) {
      request.cluster.node.nic.out_of_order = order;
      request.cluster.node.nic.retransmission = Retransmission::kSelectiveRepeat;
      request.communication.timeout = timeout;  // 8 us, which most messages take, and 4 s
      const Prediction other = predict(request);
      EXPECT_EQ(other.digest, plain.digest);
      EXPECT_EQ(other.rows.at(0).time, plain.rows.at(0).time);
      for (const PortCounters& port : other.counters) {
        EXPECT_EQ(port.local_ack_timeout_err + port.out_of_sequence + port.packet_seq_err, 0);
      }
    }
  }
}

}  // namespace
}  // namespace gradhaul

// Data that takes its way through the host: staged writes stage by stage, what they and ACS leave
// of a shared uplink, host memory's bandwidth, threads at the wrong socket; each by closed form.

#include <gtest/gtest.h>

#include <cmath>
#include <deque>

#include "core/topology_size.h"
#include "sim/hop_latency.h"
#include "tests/sim/cluster_examples.h"
#include "tests/sim/path_oracle.h"
#include "tests/sim/same_prediction.h"
#include "tests/sim/write_stream.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

double ps_for(double bytes, double bytes_per_second) { return bytes / bytes_per_second * 1e12; }
double ps(Duration time) { return static_cast<double>(time.ps); }

// From a device below a switch to host memory: 20 ns a link, 105 in the switch, 300 in the root
// complex; and back.
constexpr double kToHost = 20'000 + 105'000 + 20'000 + 300'000;
constexpr double kFromHost = 20'000 + 105'000 + 20'000;

Cluster staged_pair(int generation) {
  Cluster cluster = bare_pair(generation, 200_Gbps, {4096});
  give_latencies(cluster.node);
  cluster.node.gpu.copy_setup = 6_us;
  cluster.node.host_memory_latency = 90_ns;
  cluster.network.node_cable_metres = 7;
  return cluster;
}

// A write of at most one MTU, copied to host memory, read there by the NIC, written to host memory
// at the other end and copied to the GPU.
double staged_arrival(const Cluster& cluster, double n) {
  const Node& node = cluster.node;
  const double pcie = oracle::pcie_bytes({node.gpu.pcie->generation, 16}, 0.03);
  const double wire = static_cast<double>(cluster.network.link.bits_per_second) / 8;
  const double posted = kToHost + ps_for(n + 24 * std::ceil(n / 256), pcie);
  const double read = kToHost + ps_for(24, pcie) + ps(node.host_memory_latency) + kFromHost +
                      ps_for(n + 20 * std::ceil(n / 64), pcie);
  double t = ps(node.gpu.flag_latency + node.gpu.copy_setup) + posted;
  t += ps(node.nic.post + node.nic.doorbell + node.nic.wqe_fetch) + read;
  t += ps(node.nic.transmit_latency) + 7 * 5'050.505 + ps_for(n + 26 + 16 + 4, wire);
  t += ps(node.nic.receive_latency) + posted + ps(node.nic.completion);
  t += ps(node.gpu.copy_setup) + read + ps(node.gpu.write_latency + node.gpu.flag_latency);
  return t;
}

TEST(StagedWrite, TakesTheSumOfItsStages) {
  for (const int generation : {3, 5}) {
    const Cluster cluster = staged_pair(generation);
    for (const std::int64_t n : {2, 256, 257, 1000, 4096}) {
      const WriteStream stream(cluster, {.length = {n}, .gpudirect = GpuDirect::kOff});
      EXPECT_NEAR(static_cast<double>(stream.arrived().at(0)),
                  staged_arrival(cluster, static_cast<double>(n)), 12)
          << n;
    }
  }
}

// Copies and NIC at the same time: as many bytes as the slices ahead have no part in the time of
// the last, so that only the narrowest stage, here the wire, counts for each.
TEST(StagedWrite, IsPipelinedSliceBySlice) {
  Cluster cluster = staged_pair(5);
  cluster.network.link = 50_Gbps;
  const WriteStream stream(cluster, {.length = 64_KiB, .writes = 12, .gpudirect = GpuDirect::kOff});
  const double slice = ps_for(65'536 + 16 * 26 + 20, 50e9 / 8);
  for (std::size_t i = 4; i < 12; ++i) {
    EXPECT_NEAR(static_cast<double>(stream.arrived()[i] - stream.arrived()[i - 1]), slice, 60'000);
  }
}

// Both ways between pairs of two nodes, all at once, so many writes of each on their way: bytes a
// second of each direction of each pair, on average.
class DuplexStreams {
 public:
  DuplexStreams(const Cluster& cluster, int pairs, GpuDirect gpudirect)
      : pairs_(pairs), world_(cluster, communication(pairs, gpudirect), ends(pairs), 1) {
    for (Rank rank = 0; rank < 2 * pairs; ++rank) sinks_.emplace_back(*this, rank);
    for (Rank rank = 0; rank < 2 * pairs; ++rank) {
      world_.connect(rank, sinks_[static_cast<std::size_t>(rank)]);
    }
    world_.at(0, [this] {
      for (int i = 0; i < kInFlight; ++i) {
        for (Rank rank = 0; rank < 2 * pairs_; ++rank) post(rank);
      }
    });
    while (world_.step()) {
    }
  }
  double rate() const {
    double sum = 0;
    for (const Sink& sink : sinks_) {
      const std::int64_t time = sink.arrivals.at(kWrites - 9) - sink.arrivals.at(kInFlight);
      const double bytes = static_cast<double>(kLength.count) * (kWrites - 9 - kInFlight);
      sum += bytes / static_cast<double>(time) * 1e12;
    }
    return sum / static_cast<double>(sinks_.size());
  }

 private:
  static constexpr int kWrites = 48;
  static constexpr int kInFlight = 8;
  static constexpr Bytes kLength{128 * 1024};
  struct Sink final : CompletionSink {
    Sink(DuplexStreams& all, Rank of) : streams(all), rank(of) {}
    void on_completion(const Completion& completion) override {
      if (completion.kind != CompletionKind::kWriteArrived) return;
      arrivals.push_back(streams.world_.now());
      streams.post((rank + streams.pairs_) % (2 * streams.pairs_));
    }
    DuplexStreams& streams;
    Rank rank;
    int posted = 0;
    std::vector<std::int64_t> arrivals;
  };

  static Communication communication(int pairs, GpuDirect gpudirect) {
    Communication communication;
    communication.channels = pairs;
    communication.slots = kWrites;
    communication.gpudirect = gpudirect;
    return communication;
  }
  static std::vector<std::vector<ConnectionEnd>> ends(int pairs) {
    std::vector<std::vector<ConnectionEnd>> ends(static_cast<std::size_t>(2 * pairs));
    for (int i = 0; i < pairs; ++i) {
      for (const bool there : {true, false}) {
        const ConnectionKey key{i, there ? i : pairs + i, there ? pairs + i : i, 0};
        ends[static_cast<std::size_t>(i)].push_back({key, there, {}});
        ends[static_cast<std::size_t>(pairs + i)].push_back({key, !there, {}});
      }
    }
    return ends;
  }
  void post(Rank rank) {
    Sink& sink = sinks_[static_cast<std::size_t>(rank)];
    if (sink.posted == kWrites) return;
    WriteRequest request;
    request.connection = rank < pairs_ ? 0 : 1;
    request.length = kLength;
    request.slot = sink.posted++;
    world_.transport(rank).post_write(request);
  }

  int pairs_;
  TransportWorld world_;
  std::deque<Sink> sinks_;
};

double duplex_rate(const Cluster& cluster, int pairs, GpuDirect gpudirect) {
  return DuplexStreams(cluster, pairs, gpudirect).rate();
}

// k GPUs and k NICs below one switch in each of two nodes.
Cluster pairs_below_one_uplink(int k, int generation = 3) {
  Node node = bare_node(k, generation);
  node.pcie.clear();
  PcieBranch branch{"sw0", "socket0", PcieLink{generation, 16}, {}};
  for (int i = 0; i < k; ++i) {
    branch.devices.push_back("gpu" + std::to_string(i));
    branch.devices.push_back("nic" + std::to_string(i));
  }
  node.pcie.push_back(branch);
  node.nvlink = Nvlink{450_GBps, 1, 700_ns};
  Cluster cluster = one_switch(node, 2, 400_Gbps);
  cluster.network.vl_buffer = 128_KiB;
  return cluster;
}

// U/(2k): the uplink carries what is sent and what is received twice, once each way. Down in
// completions of 64 bytes with 20 each; the way up has writes with less beside them.
TEST(Staging, LeavesAPairHalfOfItsShareOfTheUplink) {
  const double uplink = oracle::pcie_bytes({3, 16}, 0.03);
  for (const int k : {1, 2, 4}) {
    const double closed = uplink * 64 / 84 / (2 * k);
    const double rate = duplex_rate(pairs_below_one_uplink(k), k, GpuDirect::kOff);
    EXPECT_LE(rate, 1.001 * closed);
    EXPECT_GE(rate, (k == 1 ? 0.98 : 0.95) * closed) << "requests wait behind writes going up";
  }
}

// The same for what ACS sends up and down again: completions of reads and writes both ways, and the
// requests for the reads.
TEST(Acs, LeavesAPairHalfOfItsShareOfTheUplink) {
  const double uplink = oracle::pcie_bytes({3, 16}, 0.03);
  for (const int k : {1, 2, 4}) {
    Cluster cluster = pairs_below_one_uplink(k);
    const double own = uplink * 256 / 280;
    EXPECT_NEAR(duplex_rate(cluster, k, GpuDirect::kOn), own, 0.03 * own);
    cluster.node.pcie_settings.acs = true;
    const double closed = uplink / (276.0 / 256 + 280.0 / 256 + 24.0 / 4096) / k;
    EXPECT_NEAR(duplex_rate(cluster, k, GpuDirect::kOn), closed, 0.03 * closed);
  }
}

// Where the root complex makes small packets of it, what comes down has more headers, and credits
// for as many of them.
TEST(Acs, CountsCreditsOfThePiecesThatARootComplexMakes) {
  Cluster cluster = pairs_below_one_uplink(1, 5);
  cluster.node.pcie_settings.acs = true;
  cluster.node.root_complex.tlp_split = Bytes{64};
  cluster.node.root_complex.latency = {};
  const double closed = oracle::pcie_bytes({5, 16}, 0.03) / (84.0 / 64 + 88.0 / 64 + 24.0 / 4096);
  EXPECT_NEAR(duplex_rate(cluster, 1, GpuDirect::kOn), closed, 0.03 * closed);
}

// A staged byte passes the memory of each host twice, and both ways data goes both ways.
TEST(HostMemory, IsPassedTwiceByWhatIsStaged) {
  Cluster cluster = pairs_below_one_uplink(1);
  cluster.node.host_memory_bandwidth = 8_GBps;
  EXPECT_NEAR(duplex_rate(cluster, 1, GpuDirect::kOff), 2e9, 0.02 * 2e9);
}

// Strictly ordered writes pass the root complex at their own rate; what a switch passes on does
// not meet it.
TEST(StrictOrdering, SlowsWritesThatPassTheRootComplex) {
  Cluster cluster = pairs_below_one_uplink(1);
  cluster.node.pcie_settings.relaxed_ordering = false;
  cluster.node.pcie_settings.ordered_writes = 3_GBps;
  const double own = oracle::pcie_bytes({3, 16}, 0.03) * 256 / 280;
  EXPECT_NEAR(duplex_rate(cluster, 1, GpuDirect::kOn), own, 0.03 * own);
  EXPECT_NEAR(duplex_rate(cluster, 1, GpuDirect::kOff), 3e9, 0.02 * 3e9);
}

// Two walks at a time of 4 KiB in 2 us each: writes and reads of both ways share them. A packet of
// 4 KiB misses once, of a larger page only in part.
TEST(Iommu, BringsSoManyPagesAtATime) {
  Cluster cluster = pairs_below_one_uplink(1);
  cluster.node.pcie_settings.iommu = true;
  cluster.node.pcie_settings.iotlb_miss = 2_us;
  const double walks = 2 * 4096 / 2e-6;
  EXPECT_NEAR(duplex_rate(cluster, 1, GpuDirect::kOff), walks / 4, 0.02 * walks / 4);

  Cluster idle = staged_pair(5);
  const double before = static_cast<double>(
      WriteStream(idle, {.length = {4096}, .gpudirect = GpuDirect::kOff}).arrived().at(0));
  idle.node.pcie_settings.iommu = true;
  idle.node.pcie_settings.page_walks = 1024;
  for (const std::int64_t page : {4096, 65'536}) {
    idle.node.pcie_settings.iotlb_page = {page};
    const WriteStream stream(idle, {.length = {4096}, .gpudirect = GpuDirect::kOff});
    const double share = 330'000 * 4096.0 / static_cast<double>(page);
    // Two writes and two reads pass a root complex.
    EXPECT_NEAR(static_cast<double>(stream.arrived().at(0)) - before, 4 * share,
                0.02 * 4 * share + 2000);
  }
}

double part_of(const Prediction& prediction, const std::string& cause, const std::string& end) {
  double ps = 0;
  for (const TimePart& part : prediction.rows.at(0).parts) {
    if (part.cause == cause && part.resource.ends_with(end))
      ps += static_cast<double>(part.time.ps);
  }
  return ps;
}

// What is staged is written and read at the sender's and at the receiver's, and each rank is both:
// four times its pages, and little beside them. The path names it apart from the root complex.
TEST(Iommu, IsNamedAndCounted) {
  PredictionRequest request = request_for(staged_pair(5), 4_MiB);
  request.workload.collective = Collective::kSendRecv;
  request.communication.gpudirect = GpuDirect::kOff;
  EXPECT_EQ(part_of(predict(request), "busy", ".iommu"), 0);
  request.cluster.node.pcie_settings.iommu = true;
  request.cluster.node.pcie_settings.iotlb_miss = 2_us;
  for (const Fidelity fidelity : {Fidelity::kPacket, Fidelity::kFlow, Fidelity::kAnalytic}) {
    request.fidelity = fidelity;
    const Prediction prediction = predict(request);
    // Two walks at a time bring all of them; what is at the other host meanwhile is known in part.
    const double walks = 4 * 1024 * 2e6 / 2;
    const double brought = part_of(prediction, "busy", ".iommu");
    EXPECT_GE(brought, 0.95 * walks);
    EXPECT_LE(brought, static_cast<double>(prediction.rows.at(0).time.ps));
    EXPECT_TRUE(prediction.rows.at(0).limited_by.starts_with("node0.socket0.iommu"));
    for (const ResourceUse& use : prediction.resources) {
      if (use.kind != "iommu") continue;
      EXPECT_NEAR(static_cast<double>(use.bytes.count), 16.0 * (1 << 20), 0.01 * (1 << 24));
    }
    if (fidelity != Fidelity::kPacket) continue;
    int ports = 0;
    for (const PortCounters& port : prediction.counters) {
      const auto misses = port.as_on_host.find("iotlb_misses");
      if (misses == port.as_on_host.end()) continue;
      ++ports;
      EXPECT_EQ(port.port, "node" + std::to_string(ports - 1) + ".socket0.iommu");
      EXPECT_NEAR(static_cast<double>(misses->second), 4 * 1024, 0.01 * 4 * 1024);
    }
    EXPECT_EQ(ports, 2);
  }
}

TEST(StrictOrdering, IsNamed) {
  PredictionRequest request = request_for(staged_pair(5), 4_MiB);
  request.workload.collective = Collective::kSendRecv;
  request.communication.gpudirect = GpuDirect::kOff;
  request.cluster.node.pcie_settings.relaxed_ordering = false;
  request.cluster.node.pcie_settings.ordered_writes = 3_GBps;
  const double writes = (4 << 20) / 3e9 * 1e12;
  EXPECT_NEAR(part_of(predict(request), "busy", ".ordered"), writes, 0.15 * writes);
}

// The flag, the doorbell and both ways of the work request's read cross at the sender's; at the
// receiver's the completion and the flag; and the sender's completion at the end.
TEST(ThreadAtTheOtherSocket, CrossesTheSocketLinkForEachOfItsSteps) {
  Cluster cluster = bare_pair(5, 200_Gbps, {4096});
  give_latencies(cluster.node);
  cluster.node.sockets = 2;
  cluster.node.socket_link.latency = 130_ns;
  const WriteStream well(cluster, {.length = {1000}});
  for (const int node : {0, 1}) {
    cluster.faults.far_threads = {node};
    const WriteStream ill(cluster, {.length = {1000}});
    const std::int64_t crossings = node == 0 ? 4 : 2;
    EXPECT_EQ(ill.arrived().at(0) - well.arrived().at(0), crossings * 130'000) << node;
    EXPECT_EQ(ill.done().at(0) - well.done().at(0), (node == 0 ? 5 : 0) * 130'000) << node;
  }
}

// Its buffers are there, too: two of the four passes through host memory's link cross.
TEST(ThreadAtTheOtherSocket, StagesAtThatSocket) {
  Cluster cluster = pairs_below_one_uplink(1);
  cluster.node.sockets = 2;
  cluster.node.socket_link.bandwidth = 2_GBps;
  const double near = duplex_rate(cluster, 1, GpuDirect::kOff);
  EXPECT_GT(near, 5e9);
  cluster.faults.far_threads = {0, 1};
  EXPECT_NEAR(duplex_rate(cluster, 1, GpuDirect::kOff), 1e9, 0.02 * 1e9);
}

// Sockets that pass no peer-to-peer: GPUs reach each other through host memory.
TEST(PeersAcrossSockets, AreStagedWhereNothingElseLeadsThere) {
  Cluster cluster;
  cluster.node = bare_node(2, 4);
  give_latencies(cluster.node);
  cluster.node.sockets = 2;
  cluster.node.pcie[1].parent = "socket1";
  cluster.node.gpu.copy_setup = 6_us;
  cluster.node.host_memory_latency = 90_ns;
  cluster.node.root_complex.peer_to_peer_across_sockets = BitRate{0};
  cluster.ranks_per_node = 2;
  const double pcie = oracle::pcie_bytes({4, 16}, 0.03);
  const double n = 1000;
  const double out = 6e6 + kToHost + ps_for(n + 24 * 4, pcie);
  const double in = 6e6 + kToHost + 100'000 + ps_for(24, pcie) + 90'000 + 100'000 + kFromHost +
                    ps_for(n + 20 * 16, pcie);
  const WriteStream stream(cluster, {.length = {1000}});
  EXPECT_NEAR(static_cast<double>(stream.arrived().at(0)), 500'000 + out + in + 150'000 + 500'000,
              12);
}

Cluster sized(Cluster cluster) {
  cluster.network.topology.leaves = 0;
  cluster.network.topology =
      size_topology(cluster.network, cluster.nodes, cluster.node.nic_count).topology;
  return cluster;
}

TEST(StagedHop, IsThatOfASimulatedMessageToThePicosecond) {
  for (const bool far : {false, true}) {
    for (const Node& node : {hgx_h100(), dgx_a100()}) {
      Cluster cluster = one_switch(node, 2, node.nic.rate);
      cluster.ranks_per_node = 1;
      cluster.node.gpu.copy_setup = 6_us;
      cluster.node.host_memory_bandwidth = 165_GBps;
      cluster.node.pcie_settings.acs = true;
      // No train outruns its credits.
      cluster.node.pcie_settings.posted_header_credits = 1024;
      cluster.node.pcie_settings.posted_data_credits = 8192;
      if (far) cluster.faults.far_threads = {1};
      cluster = sized(cluster);
      const Fabric fabric(cluster);
      Communication communication;
      communication.channels = 1;
      for (const GpuDirect gpudirect : {GpuDirect::kOff, GpuDirect::kOn}) {
        communication.gpudirect = gpudirect;
        HopLatency latency(fabric, 1);
        const Placement placement = place(cluster, communication, Collective::kSendRecv);
        const Hop hop = hop_between(placement, cluster, 0, 0, 1);
        for (const std::int64_t size : {1000, 4097, 65'536, 524'288}) {
          const WriteStream simulated(cluster, {.length = {size}, .gpudirect = gpudirect});
          const MessageTime closed = latency.message(hop, {size});
          EXPECT_NEAR(static_cast<double>(closed.arrived.ps),
                      static_cast<double>(simulated.arrived().at(0)), 1000)
              << size;
          EXPECT_EQ(latency.message_parts(hop, {size}).total(), closed.arrived.ps);
        }
      }
    }
  }
}

// A GPU below the NIC's switch and one beyond the root complex, from the first node to the second:
// each end is staged or not by itself.
TEST(StagedHop, MayBeStagedAtOneEndAlone) {
  for (const bool at_sender : {true, false}) {
    Node node = bare_node(2, 4);
    give_latencies(node);
    node.nic_count = 1;
    node.gpu.copy_setup = 6_us;
    const std::string near = at_sender ? "gpu1" : "gpu0";
    const std::string far = at_sender ? "gpu0" : "gpu1";
    node.pcie = {{"sw0", "socket0", PcieLink{4, 16}, {near, "nic0"}},
                 {"sw1", "socket0", PcieLink{4, 16}, {far}}};
    const Cluster cluster = sized(one_switch(node, 2, 200_Gbps));
    const Fabric fabric(cluster);
    Communication communication;
    communication.channels = 1;
    communication.gpudirect = GpuDirect::kAuto;
    const Placement placement = place(cluster, communication, Collective::kSendRecv);
    const Hop hop = hop_between(placement, cluster, 0, 0, 3);
    EXPECT_EQ(hop.staged_out, at_sender);
    EXPECT_EQ(hop.staged_in, !at_sender);
    HopLatency latency(fabric, 2);
    const WriteStream simulated(cluster, {.length = 64_KiB, .gpudirect = GpuDirect::kAuto});
    ASSERT_EQ(simulated.arrived().size(), 1U);
    EXPECT_NEAR(static_cast<double>(latency.message(hop, 64_KiB).arrived.ps),
                static_cast<double>(simulated.arrived().at(0)), 1000);
  }
}

// Rings through host memory: what recurs and what is alike is skipped exactly, and flows and closed
// forms agree with packets as far as they say.
TEST(StagedRing, IsTheSameInEveryFidelity) {
  Cluster cluster = sized(paired_cluster(4, 2));
  cluster.node.gpu.copy_setup = 6_us;
  cluster.node.host_memory_bandwidth = 250_GBps;
  // Credits must take their time to come back from a root complex for copies to be looked for.
  cluster.node.pcie_settings.credit_loop = 500_ns;
  PredictionRequest request = request_for(cluster, {8 * 4 * 262'144});
  request.communication.gpudirect = GpuDirect::kOff;
  request.communication.channels = 4;
  request.communication.slot_size = 64_KiB;
  const Prediction skipped = predict(request);
  expect_same(skipped, in_full(request));
  EXPECT_GT(skipped.cost.equal_parts, 1);
  for (const Fidelity fidelity : {Fidelity::kFlow, Fidelity::kAnalytic}) {
    request.fidelity = fidelity;
    const Prediction other = predict(request);
    EXPECT_NEAR(row_us(other), row_us(skipped), other.error_bound->microseconds());
    EXPECT_NEAR(row_us(other), row_us(skipped), 0.25 * row_us(skipped));
  }
}

}  // namespace
}  // namespace gradhaul

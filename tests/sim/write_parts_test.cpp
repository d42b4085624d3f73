// Writes in parts, one by each queue pair: how they are cut, and that a whole is there when its
// last part is.

#include "core/write_parts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "core/ecmp.h"
#include "sim/fabric.h"
#include "sim/predict.h"
#include "tests/sim/roce_examples.h"
#include "tests/sim/write_stream.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

// As NCCL cuts: even parts, rounded up to 128 bytes; the last takes what is left.
TEST(WriteParts, AreEvenAndWholeLines) {
  const struct {
    std::int64_t write;
    int queue_pairs;
    std::int64_t part;
    int parts;
  } cases[] = {{512 << 10, 1, 512 << 10, 1},
               {512 << 10, 2, 256 << 10, 2},
               {512 << 10, 3, 174'848, 3},
               {300, 2, 256, 2},
               {300, 4, 128, 3},
               {100, 4, 128, 1},
               {128, 2, 128, 1},
               {129, 2, 128, 2}};
  for (const auto& c : cases) {
    EXPECT_EQ(part_length({c.write}, c.queue_pairs).count, c.part) << c.write;
    EXPECT_EQ(count_parts({c.write}, c.queue_pairs), c.parts) << c.write;
  }
}

StreamPlan split(Bytes length, int queue_pairs, int writes = 1) {
  StreamPlan plan{.length = length, .writes = writes, .queue_pairs = queue_pairs};
  plan.threads.splits_over_queue_pairs = true;
  return plan;
}

Cluster bonded_pair() {
  Cluster cluster = roce_switch(2, 100_Gbps);
  cluster.node.bonded_nics = true;
  cluster.network.routing = Routing::kEcmp;
  return cluster;
}

// Parts that leave or come in by the fullest port.
int most_on_a_port(const Cluster& cluster, int parts, int source = 0) {
  const Fabric fabric(cluster);
  std::map<std::string, int> carried;
  for (int pair = 0; pair < parts; ++pair) {
    const ConnectionKey key{0, source, 1 - source, 0};
    for (const RouteHop& hop :
         fabric.wire(source, 0, 1 - source, 0, udp_source_port(1, key, false, pair, false))) {
      ++carried[fabric.link(hop.link).name];
    }
  }
  int most = 0;
  for (const auto& [link, count] : carried) most = std::max(most, count);
  return most;
}

// One write of 1 MiB over bonded ports of 100 Gb/s: it takes as long as its fullest port, where as
// a whole it takes one port's time. By two queue pairs that go apart it is there in half of that.
TEST(WriteParts, TakeAllPortsAtOnce) {
  const Cluster cluster = bonded_pair();
  constexpr double kPacket = 4178 / 12.5e9 * 1e12;
  const auto whole = static_cast<double>(WriteStream(cluster, {.length = 1_MiB}).arrived().at(0));
  int apart = 0;
  for (const int parts : {2, 3, 4, 5, 8}) {
    const int most = most_on_a_port(cluster, parts);
    if (most < parts) ++apart;
    const auto time =
        static_cast<double>(WriteStream(cluster, split(1_MiB, parts)).arrived().at(0));
    const double least = whole - 256 * kPacket * (1 - static_cast<double>(most) / parts);
    EXPECT_GT(time, least - kPacket) << parts;
    // Pauses of one of the switch's ports hold up both of those that send to it.
    EXPECT_LT(time, (most == 1 ? 1.02 : 1.12) * least) << parts;
  }
  EXPECT_GT(apart, 2);
}

// On one wire nothing is gained: each part has a first packet of its own, which says where to
// (RETH, 16 B), a last one with the immediate (4 B), and what does not fill a packet.
TEST(WriteParts, CostTheirHeadersOnOneWire) {
  // Of two ranks that do the same, one is simulated.
  PredictionRequest request = request_for(one_switch(bare_node(1, 5), 2, 400_Gbps), 512_KiB);
  request.workload.collective = Collective::kSendRecv;
  request.communication.channels = 1;
  request.communication.queue_pairs = 3;
  EXPECT_EQ(predict(request).cost.packets, 128);
  request.communication.splits_over_queue_pairs = true;
  // 174848, 174848 and 174592 bytes of 4096 to a packet.
  EXPECT_EQ(predict(request).cost.packets, 3 * 43);
}

// A thread posts each part, but turns to a write once, and once to what came of it.
TEST(WriteParts, AreOneTurnOfAThread) {
  const Cluster cluster = bonded_pair();
  StreamPlan plan = split(64_KiB, 4);
  plan.threads.thread_step = 650_ns;
  const WriteStream stream(cluster, plan);
  const std::vector<std::int64_t> busy = stream.world().packets().busy_threads();
  EXPECT_EQ(busy.at(0), 2 * (650_ns).ps + 4 * cluster.node.nic.post.ps);
  EXPECT_EQ(busy.at(1), (650_ns).ps);
}

// Writes keep their order, and each is told of once, however their parts overtake each other.
TEST(WriteParts, AreToldOfAsWholes) {
  const WriteStream stream(bonded_pair(), split(100_KiB, 5, 20));
  ASSERT_EQ(stream.arrived().size(), 20U);
  ASSERT_EQ(stream.done().size(), 20U);
  EXPECT_TRUE(std::is_sorted(stream.arrived().begin(), stream.arrived().end()));
  EXPECT_TRUE(std::is_sorted(stream.done().begin(), stream.done().end()));
}

// A connection with one slot has its slice over one port at a time: S / (S / B + t). In parts each
// slice is there sooner by what its fullest port is spared.
TEST(WriteParts, SpareOneSlotTheTimeOfOnePort) {
  PredictionRequest request = request_for(bonded_pair(), 32_MiB);
  request.workload.collective = Collective::kSendRecv;
  request.communication.channels = 1;
  request.communication.slots = 1;
  request.communication.slot_size = 1_MiB;
  request.communication.queue_pairs = 4;
  const int most =
      std::max(most_on_a_port(request.cluster, 4), most_on_a_port(request.cluster, 4, 1));
  ASSERT_LT(most, 4);
  const double turns = predict(request).rows.at(0).time.seconds();
  request.communication.splits_over_queue_pairs = true;
  const double parts = predict(request).rows.at(0).time.seconds();
  const double port = (1 << 20) / 4096 * 4178 / 12.5e9;
  EXPECT_NEAR((turns - parts) / 32, port * (1 - most / 4.0), 0.02 * port);
}

}  // namespace
}  // namespace gradhaul

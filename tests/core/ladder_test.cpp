// What a NIC carries, against sums by hand; and the ring step, against what neighbours must meet.

#include "core/ladder.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "core/ring_step_schedule.h"

namespace gradhaul {
namespace {

Cluster servers(int nodes, int per_node) {
  Cluster cluster;
  cluster.nodes = nodes;
  cluster.ranks_per_node = per_node;
  cluster.node.gpu_count = cluster.node.nic_count = per_node;
  return cluster;
}

CarriedBytes carried(const Cluster& cluster, Collective collective, Algorithm algorithm,
                     std::int64_t size) {
  Communication communication;
  communication.algorithm = algorithm;
  communication.channels = cluster.node.nic_count;
  return carried_by_nic(cluster, place(cluster, communication, collective), collective, algorithm,
                        Bytes{size});
}

// 32 ranks, 8 NICs a node, 14 GB: each NIC sends 2 x 31/32 x 14 GB / 8 = 3.390625 GB in 62 steps
// of 14 GB / 32 / 8.
TEST(CarriedBytes, AreWhatARingHasANicSend) {
  const CarriedBytes ring =
      carried(servers(4, 8), Collective::kAllReduce, Algorithm::kRing, 14'000'000'000);
  EXPECT_EQ(ring.whole, Bytes{3'390'625'000});
  EXPECT_EQ(ring.steps, 62);
  EXPECT_EQ(ring.step(), Bytes{54'687'500});
  const CarriedBytes half =
      carried(servers(4, 8), Collective::kReduceScatter, Algorithm::kRing, 14'000'000'000);
  EXPECT_EQ(half.whole, Bytes{1'695'312'500});
  EXPECT_EQ(half.steps, 31);
}

// Of a node's 2 ranks each has 4 of 6 parts for other nodes: 2 x 4/6 x 6000 B over 2 NICs; and of
// send_recv, the last rank alone sends out of its node, by the NIC nearest to it.
TEST(CarriedBytes, AreWhatExchangesHaveANicSend) {
  const CarriedBytes all =
      carried(servers(3, 2), Collective::kAllToAll, Algorithm::kPairwise, 6000);
  EXPECT_EQ(all.whole, Bytes{4000});
  EXPECT_EQ(all.step(), Bytes{4000});
  EXPECT_EQ(carried(servers(3, 2), Collective::kSendRecv, Algorithm::kPairwise, 6000).whole,
            Bytes{6000});
}

TEST(CarriedBytes, HaveAStepWhereThereIsARing) {
  EXPECT_EQ(why_no_ring_step(Collective::kAllReduce, Algorithm::kRing), "");
  EXPECT_EQ(why_no_ring_step(Collective::kReduceScatter, Algorithm::kRing), "");
  EXPECT_EQ(why_no_ring_step(Collective::kAllReduce, Algorithm::kTree), "tree runs no ring");
  EXPECT_EQ(why_no_ring_step(Collective::kAllGather, Algorithm::kRing),
            "this collective reduces nothing");
}

// Every send meets a receive of as many elements at the successor, who reduces it where it belongs;
// together a rank sends exactly its own chunk of each channel.
TEST(RingStep, SendsEachChunkToTheNextOnceAndReducesIt) {
  const MessagePlan plan(1001, DataType::kFp32, 2, 3, Bytes{64});
  const std::vector<std::vector<Rank>> rings{{0, 1, 2}, {2, 0, 1}};
  const RingStepSchedule schedule(plan, rings);
  ASSERT_EQ(schedule.ranks(), 3);
  for (int channel = 0; channel < 2; ++channel) {
    for (int position = 0; position < 3; ++position) {
      const std::vector<Rank>& ring = rings[static_cast<std::size_t>(channel)];
      const Rank source = ring[static_cast<std::size_t>(position)];
      const Rank target = ring[static_cast<std::size_t>((position + 1) % 3)];
      std::int64_t sent = 0;
      for (std::int64_t i = 0; i < schedule.items(source, channel, 0); ++i) {
        const Item out = schedule.item(source, channel, 0, i);
        const Item in = schedule.item(target, channel, 1, i);
        ASSERT_EQ(out.send_count, 1);
        EXPECT_EQ(out.sends[0].peer, target);
        EXPECT_EQ(out.sends[0].source, Region::kInput);
        EXPECT_EQ(in.receives[0].peer, source);
        EXPECT_EQ(in.operation, Operation::kReduce);
        EXPECT_EQ(in.left, Region::kInput);
        EXPECT_EQ(in.span, out.sends[0].span);
        sent += out.sends[0].span.count;
      }
      EXPECT_EQ(sent, plan.chunk(channel, position).count);
    }
  }
}

TEST(Rungs, HaveNamesThatReadBack) {
  for (const Rung rung :
       {Rung::kLink, Rung::kHostPair, Rung::kGpuPair, Rung::kRingStep, Rung::kCollective}) {
    EXPECT_EQ(rung_of(name_of(rung)), rung);
  }
  EXPECT_EQ(rung_of("rung"), std::nullopt);
}

}  // namespace
}  // namespace gradhaul

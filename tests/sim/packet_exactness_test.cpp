// Whole collectives of the packet model against closed forms in worlds where these are exact.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/busbw.h"
#include "core/placement.h"
#include "sim/packet_world.h"
#include "sim/predict.h"
#include "tests/sim/cluster_examples.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

std::int64_t run_ps(const PredictionRequest& request) {
  return predict(request).rows.at(0).time.ps;
}

// 2 (N - 1) steps of a latency and a chunk each: nothing overlaps where a slice is a chunk. 20 ps a
// byte.
TEST(IdealRing, TakesTheTextbookTime) {
  const struct {
    Bytes size;
    double expected_us;
    std::int64_t mtu;
  } cases[] = {{1_MiB, 102.63, 4096}, {64_MiB, 2662.47, 65'536}, {1024_MiB, 41669.5, 1 << 20}};
  for (const auto& c : cases) {
    Cluster cluster = ideal_cluster(32);
    cluster.network.mtu = {c.mtu};
    PredictionRequest request = request_for(cluster, c.size);
    request.communication.slot_size = 32_MiB;
    request.communication.channels = 1;
    const std::int64_t time = run_ps(request);
    EXPECT_EQ(time, 62 * (1'000'000 + c.size.count / 32 * 20));
    EXPECT_NEAR(static_cast<double>(time) * 1e-6, c.expected_us, 0.05);
  }
}

TEST(IdealRing, IsTheSameWhateverThePackets) {
  for (const std::int64_t mtu : {1000, 4096, 1 << 16, 1 << 22}) {
    Cluster cluster = ideal_cluster(5);
    cluster.network.mtu = {mtu};
    PredictionRequest request = request_for(cluster, {5 * 400'000});
    request.communication.slot_size = 1_MiB;
    request.communication.channels = 1;
    EXPECT_EQ(run_ps(request), 8 * (1'000'000 + 400'000 * 20)) << mtu;
  }
}

// Every rank does the same at the same time, so one recurrence gives the time of a sliced ring.
struct SlicedRing {
  std::int64_t ranks = 2;
  std::int64_t slices = 1;       // of a chunk
  std::int64_t slice_bytes = 1;  // 20 ps each on the wire
  std::int64_t slots = 8;
  std::int64_t reduce_ps = 0;  // of a slice, reductions and copies alike
};

std::int64_t recurrence_ps(const SlicedRing& ring) {
  const std::int64_t on_wire = ring.slice_bytes * 20;
  const std::int64_t arrival = 1'000'000 + on_wire;  // after the start
  const std::int64_t sends = 2 * (ring.ranks - 1) * ring.slices;
  const auto at = [](std::vector<std::int64_t>& v, std::int64_t i) -> std::int64_t& {
    return v[static_cast<std::size_t>(i)];
  };
  std::vector<std::int64_t> start(static_cast<std::size_t>(sends), 0);
  std::vector<std::int64_t> operated(static_cast<std::size_t>(sends + ring.slices), 0);
  for (std::int64_t n = 0; n < sends + ring.slices; ++n) {
    if (n >= ring.slices) {
      const std::int64_t arrived = at(start, n - ring.slices) + arrival;
      at(operated, n) = std::max(at(operated, n - 1), arrived) + ring.reduce_ps;
    }
    if (n >= sends) continue;
    std::int64_t& begin = at(start, n);
    if (n > 0) begin = at(start, n - 1) + on_wire;
    begin = std::max(begin, at(operated, n));
    // The slot is free again when what lay in it has been reduced or copied.
    if (n >= ring.slots) begin = std::max(begin, at(operated, n - ring.slots + ring.slices));
  }
  return operated.back();
}

TEST(IdealRing, InSlicesFollowsItsRecurrenceToThePicosecond) {
  for (const std::int64_t ranks : {2, 3, 5, 8}) {
    for (const std::int64_t slices : {1, 2, 7, 16}) {
      for (const std::int64_t slice_bytes : {2, 3000, 65'536}) {
        for (const std::int64_t slots : {8, 32}) {
          // A slot is needed until its slice is operated on, which is later than a chunk: the
          // recurrence looks back only.
          if (slots < slices) continue;
          for (const std::int64_t rate : {0, 10, 60}) {  // GB/s
            if (rate != 0 && slice_bytes % 60 != 0) continue;
            PredictionRequest request =
                request_for(ideal_cluster(static_cast<int>(ranks)), {ranks * slices * slice_bytes});
            if (rate > 0) request.cluster.node.gpu.reduce_bandwidth = {rate * 8'000'000'000};
            request.communication.slot_size = {slice_bytes};
            request.communication.slots = static_cast<int>(slots);
            request.communication.channels = 1;
            const SlicedRing ring{ranks, slices, slice_bytes, slots,
                                  rate > 0 ? slice_bytes * 1000 / rate : 0};
            EXPECT_EQ(run_ps(request), recurrence_ps(ring))
                << ranks << " ranks, " << slices << " slices of " << slice_bytes << ", " << slots
                << " slots, " << rate << " GB/s";
          }
        }
      }
    }
  }
}

// With one slot, one slice at a time goes there and its slot comes back.
TEST(IdealRing, WithFewSlotsIsHeldToSlotsTimesSliceOverRoundTrip) {
  for (const std::int64_t slots : {1, 2, 4}) {
    constexpr std::int64_t kSlice = 10'000;  // 200 ns on the wire, 1.2 us there; nothing back
    const auto time_of = [&](std::int64_t slices) {
      Cluster cluster = ideal_cluster(2);
      PredictionRequest request = request_for(cluster, {2 * slices * kSlice});
      request.communication.slot_size = {kSlice};
      request.communication.slots = static_cast<int>(slots);
      request.communication.channels = 1;
      return run_ps(request);
    };
    const std::int64_t more = 40 * slots;
    // Two steps of a chunk; slots x slice every 1.2 us.
    EXPECT_EQ(time_of(more + 20 * slots) - time_of(more), 2 * 20 * 1'200'000) << slots;
  }
}

TEST(IdealRing, BeginsOneKernelLaunchLate) {
  PredictionRequest request = request_for(ideal_cluster(4), 1_MiB);
  const std::int64_t without = run_ps(request);
  request.cluster.node.gpu.kernel_launch = 4_us;
  EXPECT_EQ(run_ps(request), without + 4'000'000);
}

// Every part crosses once: (N - 1) writes of S / N a rank, all at once on its wire.
TEST(IdealAllToAll, TakesTheTimeOfWhatLeavesARank) {
  PredictionRequest request = request_for(ideal_cluster(4), {4 * 300'000});
  request.workload.collective = Collective::kAllToAll;
  request.communication.channels = 1;
  request.communication.slot_size = 1_MiB;
  const std::int64_t wire = 3 * 300'000 * 20;
  const std::int64_t time = run_ps(request);
  EXPECT_GE(time, 1'000'000 + wire);
  EXPECT_LE(time, 1'000'000 + wire + wire / 3);
}

TEST(IdealSendRecv, TakesOneWrite) {
  PredictionRequest request = request_for(ideal_cluster(3), {900'000});
  request.workload.collective = Collective::kSendRecv;
  request.communication.channels = 1;
  request.communication.slot_size = 1_MiB;
  EXPECT_EQ(run_ps(request), 1'000'000 + 900'000 * 20);
}

TEST(Counts, PacketsAreWholeMtusAndARest) {
  for (const std::int64_t size : {2, 4096, 4098, 100'000, 1'000'000}) {
    for (const std::int64_t mtu : {1024, 4096}) {
      PredictionRequest request = request_for(bare_pair(5, 400_Gbps, {mtu}), {size});
      request.workload.collective = Collective::kSendRecv;
      request.communication.channels = 1;
      request.communication.slot_size = 4_MiB;
      request.skip_recurrences = false;
      const RunCost cost = predict(request).cost;
      const std::int64_t packets = 2 * ((size + mtu - 1) / mtu);
      EXPECT_EQ(cost.packets, packets) << size << " in " << mtu;
      // GPU to switch to NIC, a cable, NIC to switch to GPU.
      EXPECT_EQ(cost.packet_hops, 5 * packets);
      EXPECT_EQ(cost.skipped_packet_hops, 0);
    }
  }
}

// Slices that are no multiple of the MTU end in a short packet each.
TEST(Counts, EachSliceEndsAPacket) {
  PredictionRequest request = request_for(bare_pair(5, 400_Gbps, {4096}), {100'000});
  request.workload.collective = Collective::kSendRecv;
  request.communication.channels = 1;
  request.communication.slot_size = {10'000};
  request.skip_recurrences = false;
  EXPECT_EQ(predict(request).cost.packets, 2 * 10 * 3);
}

TEST(Counts, PacketsPassEverySwitchOfTheNetwork) {
  Cluster cluster = bare_pair(5, 400_Gbps, {4096});
  cluster.network.topology = {TopologyKind::kLeafSpine, 4, 2, 1, 1};
  PredictionRequest request = request_for(cluster, {100 * 4096});
  request.workload.collective = Collective::kSendRecv;
  request.communication.channels = 1;
  request.skip_recurrences = false;
  EXPECT_EQ(predict(request).cost.packet_hops, 2 * 100 * (2 + 4 + 2));
}

// No byte is lost to remainders: all ranks together send 2 (N - 1) S.
TEST(Counts, AllRanksTogetherSendTwiceNMinusOneMessages) {
  for (const int nodes : {2, 3, 5}) {
    for (const int channels : {1, 2, 3}) {
      for (const std::int64_t count : {1, 7, 10'007, 99'991}) {
        PredictionRequest request =
            request_for(one_switch(bare_node(1, 5), nodes, 400_Gbps), {2 * count});
        request.communication.channels = channels;
        request.communication.slot_size = {4099};
        const Fabric fabric(request.cluster);
        const Placement placement =
            place(request.cluster, request.communication, Collective::kAllReduce);
        PacketWorld world(request, fabric, placement, count);
        for (Rank rank = 0; rank < nodes; ++rank) world.start_rank(rank, 0);
        while (!world.complete()) world.run(INT64_MAX - 1, INT64_MAX);
        std::int64_t sent = 0;
        for (Rank rank = 0; rank < nodes; ++rank) sent += world.bytes_sent(rank);
        EXPECT_EQ(sent, 2 * (nodes - 1) * 2 * count);
        world.check();
      }
    }
  }
}

TEST(Counts, BytesSentPerRankIsTheLargest) {
  PredictionRequest request = request_for(one_switch(bare_node(1, 5), 3, 400_Gbps), {2 * 10});
  request.communication.channels = 1;
  // Chunks of 4, 3 and 3 elements: the rank that does not send the first one at the end sends
  // least.
  EXPECT_EQ(predict(request).rows[0].bytes_sent_per_rank.count, 2 * (20 - 6));
}

// Whatever the size, a ring's busbw stays below what headers leave of the wires.
TEST(RingBound, IsNeverExceeded) {
  double best = 0;
  for (const int nodes : {2, 3, 4}) {
    for (const int pairs : {1, 2}) {
      for (const std::int64_t mtu : {1024, 4096}) {
        for (const std::int64_t size : {2, 4096, 65'536, 1'000'000, 8'000'000}) {
          for (const int channels : {1, 2}) {
            Cluster cluster = one_switch(bare_node(pairs, 5), nodes, 400_Gbps);
            cluster.network.mtu = {mtu};
            cluster.node.nvlink = Nvlink{450_GBps, 1, 700_ns};
            PredictionRequest request = request_for(cluster, {size});
            request.communication.channels = channels;
            const ResultRow row = predict(request).rows.at(0);
            const double bus = busbw(row.collective, row.ranks, row.size, row.time);
            const double efficiency = static_cast<double>(mtu) / static_cast<double>(mtu + 26);
            // With one channel, one NIC of a node carries it all.
            const double bound = 50e9 * efficiency * std::min(pairs, channels);
            EXPECT_LE(bus, bound) << nodes << "x" << pairs << " mtu " << mtu << " size " << size;
            best = std::max(best, bus / bound);
          }
        }
      }
    }
  }
  EXPECT_GT(best, 0.97);
}

}  // namespace
}  // namespace gradhaul

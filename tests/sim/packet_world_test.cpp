// Whole worlds: the same twice and however they are stepped, with SimGrid and without, to their end
// and to an end of another kind.

#include "sim/packet_world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "core/placement.h"
#include "sim/predict.h"
#include "sim/simgrid_bridge.h"
#include "tests/sim/cluster_examples.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

// Shares NICs, uplinks and NVLink, with credits, tags and latencies: something happens everywhere.
PredictionRequest busy_request() {
  Node node = bare_node(1, 4);
  node.gpu_count = 2;
  node.nic_count = 1;
  node.pcie = {{"sw0", "socket0", PcieLink{3, 16}, {"gpu0", "gpu1"}},
               {"", "socket0", std::nullopt, {"nic0"}}};
  give_latencies(node);
  node.gpu.reduce_bandwidth = 20_GBps;
  PredictionRequest request = request_for(one_switch(node, 3, 200_Gbps), {1'000'002});
  request.communication.channels = 2;
  request.communication.slot_size = {50'000};
  return request;
}

// A world of a request, whose parts outlive it.
struct Whole {
  explicit Whole(const PredictionRequest& asked, Starts starts = Starts::kTogether)
      : request(asked),
        fabric(request.cluster),
        placement(place(request.cluster, request.communication, request.workload.collective)),
        world(request, fabric, placement,
              request.workload.sizes[0].count / size_of(request.workload.datatype).count, starts) {}

  void start_all(std::int64_t time = 0) {
    for (Rank rank = 0; rank < world.ranks(); ++rank) world.start_rank(rank, time);
  }
  // Steps of time and of events, as given.
  void run(std::int64_t step, std::int64_t budget) {
    std::int64_t limit = step;
    for (int idle = 0; !world.complete() && idle < 2;) {
      const PacketEngine::Pause pause = world.run(limit, budget);
      if (pause == PacketEngine::Pause::kLimit) limit += step;
      idle = pause == PacketEngine::Pause::kIdle ? idle + 1 : 0;
    }
    ASSERT_TRUE(world.complete());
    world.check();
  }

  PredictionRequest request;
  Fabric fabric;
  Placement placement;
  PacketWorld world;
};

std::vector<std::int64_t> completion_times(const PacketWorld& world) {
  std::vector<std::int64_t> times;
  for (Rank rank = 0; rank < world.ranks(); ++rank) times.push_back(world.completion_time(rank));
  return times;
}

void expect_equal(const Prediction& a, const Prediction& b) {
  EXPECT_EQ(a.digest, b.digest);
  EXPECT_EQ(a.rings, b.rings);
  ASSERT_EQ(a.rows.size(), b.rows.size());
  for (std::size_t i = 0; i < a.rows.size(); ++i) {
    EXPECT_EQ(a.rows[i].time, b.rows[i].time);
    EXPECT_EQ(a.rows[i].limited_by, b.rows[i].limited_by);
    ASSERT_EQ(a.rows[i].parts.size(), b.rows[i].parts.size());
    for (std::size_t part = 0; part < a.rows[i].parts.size(); ++part) {
      EXPECT_EQ(a.rows[i].parts[part].time, b.rows[i].parts[part].time);
      EXPECT_EQ(a.rows[i].parts[part].resource, b.rows[i].parts[part].resource);
    }
  }
  ASSERT_EQ(a.resources.size(), b.resources.size());
  for (std::size_t i = 0; i < a.resources.size(); ++i) {
    EXPECT_EQ(a.resources[i].name, b.resources[i].name);
    EXPECT_EQ(a.resources[i].utilisation, b.resources[i].utilisation);
    EXPECT_EQ(a.resources[i].bytes, b.resources[i].bytes);
  }
  ASSERT_EQ(a.counters.size(), b.counters.size());
  for (std::size_t i = 0; i < a.counters.size(); ++i) {
    EXPECT_EQ(a.counters[i].port, b.counters[i].port);
    EXPECT_EQ(a.counters[i].xmit_wait, b.counters[i].xmit_wait);
  }
  EXPECT_EQ(a.cost.packets, b.cost.packets);
  EXPECT_EQ(a.cost.packet_hops, b.cost.packet_hops);
}

TEST(Determinism, TheSameRequestGivesTheSamePrediction) {
  const PredictionRequest request = busy_request();
  const Prediction first = predict(request);
  expect_equal(first, predict(request));
  EXPECT_NE(first.digest, 0U);
  EXPECT_TRUE(first.exact);
}

TEST(Determinism, TheDigestTellsRequestsApart) {
  const PredictionRequest request = busy_request();
  const std::uint64_t digest = predict(request).digest;
  PredictionRequest other = request;
  other.workload.sizes[0] = {1'000'000};
  EXPECT_NE(predict(other).digest, digest);
  other = request;
  other.communication.slots = 1;
  EXPECT_NE(predict(other).digest, digest);
  other = request;
  other.cluster.node.gpu.flag_latency += 1_ps;
  EXPECT_NE(predict(other).digest, digest);
}

TEST(Determinism, TheOrderInWhichANodeIsDescribedIsOfNoConsequence) {
  const PredictionRequest request = busy_request();
  PredictionRequest turned = request;
  std::swap(turned.cluster.node.pcie[0], turned.cluster.node.pcie[1]);
  EXPECT_EQ(predict(turned).digest, predict(request).digest);
}

TEST(Determinism, WhereARunPausesChangesNothing) {
  Whole whole(busy_request());
  whole.start_all();
  whole.run(INT64_MAX - 1, INT64_MAX);
  const std::uint64_t digest = whole.world.digest();
  const struct {
    std::int64_t step;
    std::int64_t budget;
  } ways[] = {
      {INT64_MAX - 1, 1}, {INT64_MAX - 1, 7}, {1'000, INT64_MAX}, {777'777, 100}, {50'000'000, 3}};
  for (const auto& way : ways) {
    Whole stepped(busy_request());
    stepped.start_all();
    stepped.run(way.step, way.budget);
    EXPECT_EQ(stepped.world.digest(), digest) << way.step << " ps, " << way.budget << " events";
    EXPECT_EQ(completion_times(stepped.world), completion_times(whole.world));
    EXPECT_EQ(stepped.world.engine().packet_hops(), whole.world.engine().packet_hops());
  }
}

TEST(SimGridBridge, RunsWhatTheWorldRunsByItself) {
  Whole alone(busy_request());
  alone.start_all();
  alone.run(INT64_MAX - 1, INT64_MAX);
  for (int again = 0; again < 2; ++again) {
    Whole bridged(busy_request());
    ASSERT_TRUE(run_under_simgrid(bridged.world, [] { return true; }));
    bridged.world.check();
    EXPECT_EQ(bridged.world.digest(), alone.world.digest());
    EXPECT_EQ(completion_times(bridged.world), completion_times(alone.world));
  }
}

// Whoever waits is asked whether to go on and told how far it is, also while recurrences are looked
// for after every slice.
TEST(PacketWorld, ComesBackAfterSoManyEvents) {
  PredictionRequest request = request_for(ideal_cluster(4), {64 << 20});
  request.workload.sizes[0].count -= 2;  // chunks that differ: nothing stands for anything else
  request.communication.slot_size = 32_KiB;
  request.communication.channels = 1;
  request.stepping = Stepping::kEvents;  // stations do more at once: tests/sim/stations_test.cpp
  Whole whole(request);
  whole.start_all();
  std::int64_t events = 0;
  int pauses = 0;
  double progress = 0;
  while (whole.world.run(INT64_MAX - 1, 100) == PacketEngine::Pause::kBudget) {
    EXPECT_LE(whole.world.engine().events() - events, 100);
    events = whole.world.engine().events();
    EXPECT_GE(whole.world.progress(), progress);
    progress = whole.world.progress();
    ++pauses;
  }
  EXPECT_GT(pauses, 10);
}

// Ranks that come late are waited for; those that do not need them finish nothing before.
TEST(PacketWorld, RanksMayStartAtDifferentTimes) {
  Whole even(busy_request());
  even.start_all();
  even.run(INT64_MAX - 1, INT64_MAX);
  Whole shifted(busy_request());
  shifted.start_all(5'000'000);
  shifted.run(INT64_MAX - 1, INT64_MAX);
  EXPECT_EQ(shifted.world.end(), even.world.end() + 5'000'000);
  Whole late(busy_request(), Starts::kApart);
  for (Rank rank = 0; rank < late.world.ranks(); ++rank) {
    late.world.start_rank(rank, rank == 4 ? 300'000'000 : 0);
  }
  late.run(INT64_MAX - 1, INT64_MAX);
  EXPECT_GT(late.world.end(), 300'000'000);
  EXPECT_LT(late.world.end(), even.world.end() + 300'000'000);
  for (const std::int64_t time : completion_times(late.world)) EXPECT_GT(time, 300'000'000);
}

// Two ranks started apart wait for each other: the time is the later start and one ring.
TEST(PacketWorld, ALateRankDelaysAllByItsDelay) {
  PredictionRequest request = request_for(ideal_cluster(2), {2 * 50'000});
  request.cluster.network.topology.leaves = 1;
  request.communication.channels = 1;
  Whole whole(request, Starts::kApart);
  whole.world.start_rank(0, 0);
  whole.world.start_rank(1, 7'000'000);
  whole.run(INT64_MAX - 1, INT64_MAX);
  // Rank 1 sends its chunk from 7 to 8 us and the sum of what has long arrived from 8 to 9, which
  // is there at 10; rank 0 has the chunk at 9 and sends its sum on, which is written at 11.
  EXPECT_EQ(completion_times(whole.world), (std::vector<std::int64_t>{11'000'000, 11'000'000}));
}

TEST(PacketWorld, KeepsTheSlowestRankAsTheTime) {
  const Prediction prediction = predict(busy_request());
  Whole whole(busy_request());
  whole.start_all();
  whole.run(INT64_MAX - 1, INT64_MAX);
  EXPECT_EQ(prediction.rows[0].time.ps, whole.world.end());
  std::int64_t most = 0;
  for (Rank rank = 0; rank < whole.world.ranks(); ++rank) {
    most = std::max(most, whole.world.bytes_sent(rank));
  }
  EXPECT_EQ(prediction.rows[0].bytes_sent_per_rank.count, most);
}

// A lane's buffer of 64 blocks holds no packet of 65: nothing can ever be sent.
PredictionRequest stalled_request() {
  PredictionRequest request = busy_request();
  request.cluster.network.vl_buffer = {4096};
  return request;
}

TEST(StalledWorld, SaysWhoWaitsForWhom) {
  try {
    predict(stalled_request());
    FAIL() << "it can't have finished";
  } catch (const SimulationError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("stalled"));
    for (const char* rank : {"rank 0", "rank 3", "rank 5"}) {
      EXPECT_THAT(error.what(), testing::HasSubstr(rank));
    }
    EXPECT_THAT(error.what(), testing::HasSubstr("credits"));
  }
}

TEST(StalledWorld, LeavesTheSimulatorAsItWas) {
  const PredictionRequest request = busy_request();
  const std::uint64_t digest = predict(request).digest;
  EXPECT_THROW(predict(stalled_request()), SimulationError);
  EXPECT_EQ(predict(request).digest, digest);
}

TEST(StalledWorld, EndsIdleWithoutSimGrid) {
  Whole whole(stalled_request());
  whole.start_all();
  EXPECT_EQ(whole.world.run(INT64_MAX - 1, INT64_MAX), PacketEngine::Pause::kIdle);
  EXPECT_FALSE(whole.world.complete());
  EXPECT_LT(whole.world.progress(), 1);
  EXPECT_THROW(whole.world.report_stall(), SimulationError);
}

// GPU 1 hangs at the other socket than NIC 0 and GPU 0, and sockets pass no peer-to-peer.
TEST(Paths, ThatSocketsDoNotPassAreErrors) {
  PredictionRequest request = busy_request();
  Node& node = request.cluster.node;
  node.sockets = 2;
  node.pcie = {{"sw0", "socket0", PcieLink{4, 16}, {"gpu0", "nic0"}},
               {"sw1", "socket1", PcieLink{4, 16}, {"gpu1"}}};
  node.root_complex.peer_to_peer_across_sockets = {0};
  const auto message = [&] {
    try {
      predict(request);
    } catch (const SimulationError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(message(), testing::HasSubstr("reach"));
  EXPECT_THAT(message(), testing::HasSubstr("peer-to-peer"));
  node.nvlink = Nvlink{300_GBps, 0.8, 700_ns};
  // A ring enters the node by NIC 0 at GPU 0 and leaves by it from GPU 0 again.
  request.communication.ring_order = RingOrder::kNccl;
  EXPECT_EQ(message(), "");
  // Written straight to GPU 1's memory, it would have to cross.
  request.workload.collective = Collective::kAllToAll;
  EXPECT_THAT(message(), testing::HasSubstr("gpu1"));
}

// Keeps what was finished; the row that was running is not there.
TEST(Interruption, EndsTheRunAtOnceAndKeepsFinishedRows) {
  PredictionRequest request = busy_request();
  const std::uint64_t whole = predict(request).digest;
  std::atomic<bool> interrupted = true;
  request.interrupted = &interrupted;
  const Prediction none = predict(request);
  EXPECT_TRUE(none.interrupted);
  EXPECT_TRUE(none.rows.empty());
  interrupted = false;
  EXPECT_EQ(predict(request).digest, whole);

  // Set as soon as the second row is told of.
  struct Stopper final : ProgressSink {
    void on_progress(double done, Bytes row) override {
      EXPECT_GE(done, last);
      EXPECT_LE(done, 1);
      last = done;
      if (row == Bytes{30'000'000}) stop = true;
    }
    std::atomic<bool> stop = false;
    double last = 0;
  } stopper;
  request.workload.sizes = {{1'000'000}, {30'000'000}, {2'000'000}};
  request.progress = &stopper;
  request.interrupted = &stopper.stop;
  const Prediction some = predict(request);
  EXPECT_TRUE(some.interrupted);
  ASSERT_EQ(some.rows.size(), 1U);
  EXPECT_EQ(some.rows[0].size.count, 1'000'000);
}

TEST(Rows, OnePerSizeAndEachAsIfAlone) {
  PredictionRequest request = busy_request();
  request.workload.sizes = {{100'001}, {7}, {400'000}};
  const Prediction all = predict(request);
  ASSERT_EQ(all.rows.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    PredictionRequest alone = request;
    alone.workload.sizes = {request.workload.sizes[i]};
    EXPECT_EQ(predict(alone).rows[0].time, all.rows[i].time);
  }
  EXPECT_EQ(all.rows[0].size.count, 100'000);  // whole bf16
  EXPECT_EQ(all.rows[0].count, 50'000);
  EXPECT_EQ(all.rows[1].count, 3);
  EXPECT_EQ(all.rows[2].ranks, 6);
  EXPECT_EQ(all.rows[2].channels, 2);
}

}  // namespace
}  // namespace gradhaul

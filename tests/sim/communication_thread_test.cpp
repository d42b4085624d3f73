// What a rank's communication thread costs beside what its NIC's model says of posts and
// completions: registration, waking up, steps, turns; each by closed form.

#include <gtest/gtest.h>

#include <algorithm>

#include "core/topology_size.h"
#include "sim/hop_latency.h"
#include "sim/predict.h"
#include "sim/sized_cluster.h"
#include "tests/sim/cluster_examples.h"
#include "tests/sim/same_prediction.h"
#include "tests/sim/write_stream.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

constexpr Duration kStep = 650_ns;
constexpr Duration kWakeUp = 3'500_ns;

Cluster pair() {
  Cluster cluster = bare_pair(5, 400_Gbps, {4096});
  give_latencies(cluster.node);
  return cluster;
}

Communication stepping() {
  Communication communication;
  communication.thread_step = kStep;
  return communication;
}

Communication sleeping() {
  Communication communication;
  communication.sleeps = true;
  communication.wake_up = kWakeUp;
  return communication;
}

std::int64_t last_arrival(const StreamPlan& plan) {
  return WriteStream(pair(), plan).arrived().back();
}

// The costs that UCX reckons with: 1 GiB of 4 KiB pages takes 64.2 ms, of 2 MiB pages at 0.4 us
// each 0.22 ms.
TEST(MemoryRegistration, IsABaseAndItsPages) {
  constexpr Bytes kSize{std::int64_t{1} << 30};
  EXPECT_EQ(registration_time(kHostRegistration, kSize).ps, 16'000'000 + 262'144 * 245'000LL);
  EXPECT_EQ(registration_time({2_MiB, 16_us, 400_ns}, kSize).ps, 16'000'000 + 512 * 400'000);
  EXPECT_EQ(registration_time(kHostRegistration, {4097}).ps, 16'000'000 + 2 * 245'000);
}

// Before the first write alone, which holds up all behind it.
TEST(CommunicationThread, RegistersMemoryBeforeItsFirstPost) {
  Communication registering;
  registering.registering = Registering::kPerTransfer;
  const StreamPlan once{.length = 512_KiB, .writes = 6};
  StreamPlan each = once;
  each.threads = registering;
  EXPECT_EQ(last_arrival(each) - last_arrival(once),
            registration_time(kGpuRegistration, 512_KiB).ps);
}

TEST(MemoryRegistration, IsTakenBackInAShareOfItsTime) {
  EXPECT_EQ(deregistration_time({2_MiB, 16_us, 400_ns}, 4_MiB).ps, 16'800'000 * 45 / 100);
  EXPECT_EQ(deregistration_time({2_MiB, 16_us, 400_ns, 0.3}, 4_MiB).ps, 16'800'000 * 3 / 10);
}

// Of both ranks alike, before all that is sent and after all that has come.
TEST(CommunicationThread, RegistersAndTakesBackForEachCollective) {
  const auto time_of = [](Bytes size, Registering registering) {
    PredictionRequest request = request_for(with_sized_topology(pair()), size);
    request.workload.collective = Collective::kSendRecv;
    request.communication.channels = 1;
    request.communication.registering = registering;
    return predict(request).rows.at(0).time;
  };
  for (const Bytes size : {64_KiB, 1_MiB, 16_MiB}) {
    const Duration once = time_of(size, Registering::kOnce);
    EXPECT_EQ(
        time_of(size, Registering::kPerTransfer) - once,
        registration_time(kGpuRegistration, size) + deregistration_time(kGpuRegistration, size));
    // A look into a cache takes the same, whatever it finds.
    EXPECT_EQ(time_of(size, Registering::kCached) - once, kGpuRegistration.hit);
  }
}

// The sender's for the kernel's flag, the receiver's for the completion.
TEST(CommunicationThread, IsWokenAtBothEnds) {
  const StreamPlan awake{.length = {4096}};
  StreamPlan asleep = awake;
  asleep.threads = sleeping();
  const WriteStream stream(pair(), asleep);
  EXPECT_EQ(stream.arrived()[0] - last_arrival(awake), 2 * kWakeUp.ps);
  const std::vector<std::int64_t> busy = stream.world().packets().busy_threads();
  // Its own completion wakes the sender once more.
  EXPECT_EQ(busy.at(0), 2 * kWakeUp.ps + pair().node.nic.post.ps);
  EXPECT_EQ(busy.at(1), kWakeUp.ps);
}

// Writes posted at once follow each other as the thread gets to them, where that takes longer than
// all else; and what one message alone takes is known without simulating it.
TEST(CommunicationThread, DoesOneThingAfterTheOther) {
  const Cluster cluster = pair();
  const WriteStream stream(cluster, {.length = {64}, .writes = 5, .threads = stepping()});
  const std::int64_t turn = kStep.ps + cluster.node.nic.post.ps;
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(stream.arrived()[i] - stream.arrived()[i - 1], turn);
  }
  const Fabric fabric(cluster);
  Hop hop;
  hop.source = 0;
  hop.destination = 1;
  hop.source_nic = hop.destination_nic = 0;
  HopLatency latency(fabric, 1, stepping());
  const MessageTime alone = latency.message(hop, {64});
  EXPECT_EQ(alone.arrived.ps, stream.arrived()[0]);
  EXPECT_EQ(alone.spacing.ps, turn);
  const WriteStream free(cluster, {.length = {64}});
  EXPECT_EQ(stream.arrived()[0] - free.arrived()[0], 2 * kStep.ps);
}

// A connection with so many steps of c bytes on their way carries min(B, steps x c / (c / B + t)),
// where t is what each step costs beside its bytes, until its slot is there again. 128 KiB at 10.1
// us a step, 7.4 of which are not the wire's, are 13 GB/s of 400 Gb/s [NCCL issue 2409].
TEST(CommunicationThread, AFixedCostOfEachStepBoundsAConnection) {
  constexpr Bytes kStepSize{128 * 1024};
  Cluster cluster = with_sized_topology(pair());
  Hop hop;
  hop.source = 0;
  hop.destination = 1;
  hop.source_nic = hop.destination_nic = 0;
  const auto round_trip = [&] {
    const Fabric fabric(cluster);
    HopLatency latency(fabric, 1);
    return (latency.message(hop, kStepSize).arrived + latency.slot_return(hop)).ps;
  };
  // Flags of kernels and hosts are seen as late as that takes.
  cluster.node.gpu.flag_latency = {};
  const std::int64_t none = round_trip();
  cluster.node.gpu.flag_latency = 1_us;
  const std::int64_t each = round_trip() - none;
  cluster.node.gpu.flag_latency = {(10'100'000 - none) * 1'000'000 / each};
  const double total = static_cast<double>(round_trip());
  ASSERT_NEAR(total, 10.1e6, 10);
  for (const int slots : {1, 2, 8}) {
    const auto time_of = [&](int steps) {
      PredictionRequest request = request_for(cluster, kStepSize * steps);
      request.workload.collective = Collective::kSendRecv;
      request.communication.channels = 1;
      request.communication.slots = slots;
      request.communication.slot_size = kStepSize;
      return static_cast<double>(predict(request).rows.at(0).time.ps);
    };
    const double bytes = 48 * static_cast<double>(kStepSize.count);
    const double rate = bytes / (time_of(96) - time_of(48)) * 1e12;
    const double steps = static_cast<double>(kStepSize.count) * slots / total * 1e12;
    const double expected = std::min(steps, 50e9 * 4096 / 4122);
    EXPECT_NEAR(rate, expected, 0.002 * expected) << slots;
    EXPECT_NEAR(expected, std::min(slots * 13e9, 49.7e9), slots * 0.03e9);
  }
}

// One thread for all channels of a rank: the second waits for the first.
TEST(CommunicationThread, IsSharedByAllChannels) {
  const Cluster cluster = pair();
  std::vector<std::vector<ConnectionEnd>> ends(2);
  for (const int channel : {0, 1}) {
    const ConnectionKey key{channel, 0, 1, 0};
    ends[0].push_back({key, true, {}});
    ends[1].push_back({key, false, {}});
  }
  Communication communication = stepping();
  communication.channels = 2;
  TransportWorld world(cluster, communication, ends, 2);
  struct Arrivals final : CompletionSink {
    explicit Arrivals(const TransportWorld& of) : world(of) {}
    void on_completion(const Completion& completion) override {
      if (completion.kind == CompletionKind::kWriteArrived) times.push_back(world.now());
    }
    const TransportWorld& world;
    std::vector<std::int64_t> times;
  } arrivals(world);
  world.connect(1, arrivals);
  world.at(0, [&world] {
    for (const ConnectionId id : {0, 1}) {
      WriteRequest request;
      request.connection = id;
      request.length = {64};
      world.transport(0).post_write(request);
    }
  });
  while (world.step()) {
  }
  ASSERT_EQ(arrivals.times.size(), 2U);
  EXPECT_EQ(arrivals.times[1] - arrivals.times[0], kStep.ps + cluster.node.nic.post.ps);
}

// A work request that comes with the doorbell is not fetched; one that is longer is.
TEST(BlueFlame, SavesTheFetchOfTheWorkRequest) {
  Communication written;
  written.blue_flame = {4096};
  for (const std::int64_t size : {64, 4096, 4097}) {
    StreamPlan plan{.length = {size}};
    const std::int64_t fetched = last_arrival(plan);
    plan.threads = written;
    EXPECT_EQ(fetched - last_arrival(plan), size > 4096 ? 0 : pair().node.nic.wqe_fetch.ps);
  }
}

// Behind one that is fetched it has to wait: queue pairs keep their order.
TEST(BlueFlame, PassesNoRequestThatIsFetched) {
  const auto time_of = [](std::int64_t size, Bytes written) {
    PredictionRequest request = request_for(with_sized_topology(pair()), {size});
    request.workload.collective = Collective::kSendRecv;
    request.communication.channels = 1;
    request.communication.slot_size = {8192};
    request.communication.blue_flame = written;
    return predict(request).rows.at(0).time.ps;
  };
  EXPECT_EQ(time_of(8192 + 100, {4096}), time_of(8192 + 100, {}));
  EXPECT_EQ(time_of(100, {4096}), time_of(100, {}) - pair().node.nic.wqe_fetch.ps);
}

// Turns are part of what must recur before anything is skipped.
TEST(CommunicationThread, IsTheSameWhereWhatRecursIsSkipped) {
  for (const Communication& threads : {stepping(), sleeping()}) {
    PredictionRequest request = request_for(paired_cluster(4, 2), 32_MiB);
    request.communication.thread_step = threads.thread_step;
    request.communication.sleeps = threads.sleeps;
    request.communication.wake_up = threads.wake_up;
    request.communication.registering = Registering::kPerTransfer;
    const Prediction skipped = predict(request);
    const Prediction full = in_full(request);
    expect_same(skipped, full);
    EXPECT_GT(skipped.cost.skipped_packet_hops, full.cost.skipped_packet_hops);
    EXPECT_DOUBLE_EQ(skipped.rows[0].cpu_cores, full.rows[0].cpu_cores);
  }
}

}  // namespace
}  // namespace gradhaul

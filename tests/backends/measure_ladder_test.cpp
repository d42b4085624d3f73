// The rungs below a collective, measured between threads: who takes part, what is told, and that a
// step adds up what neighbours sent.

#include "backends/measure/measure_ladder.h"

#include <gmock/gmock.h>

#include <cstring>
#include <functional>
#include <thread>

#include "backends/bootstrap/thread_exchange.h"
#include "backends/cpu/host_rank_memory.h"
#include "backends/cuda/gpu_rank_memory.h"
#include "backends/cuda/gpu_slot_copier.h"
#include "backends/loopback/memory_endpoint.h"
#include "backends/measure/half_row.h"
#include "backends/measure/write_stream.h"
#include "tests/fake_cuda/fake_cuda.h"

namespace gradhaul {
namespace {

using std::chrono::nanoseconds;
using std::chrono_literals::operator""s;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

void on_ranks(Rank ranks, const std::function<void(const RankResources&)>& work) {
  ThreadGroup group(ranks, 60s);
  MemoryMeetingPlace place;
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadExchange exchange(group, rank);
      MemoryEndpointMaker endpoints(place, exchange);
      HostRankMemory memory;
      work({exchange, endpoints, memory});
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// 10 slices and a rest through two slots, both ways between 0 and 2; rank 1 only looks on.
TEST(WriteStream, TimesThoseThatTakePart) {
  WriteStreamSettings settings;
  settings.writes = {{.source = 0, .destination = 2}, {.source = 2, .destination = 0}};
  settings.size = {10'300};
  settings.slice = {1000};
  settings.slots = 2;
  settings.timeout = 60s;
  on_ranks(3, [&](const RankResources& rank) {
    WriteStream stream(settings, rank.exchange, rank.endpoints, rank.memory);
    const auto times = stream.times({.iterations = 4, .warmup = 1}, nullptr);
    ASSERT_TRUE(times);
    ASSERT_THAT(*times, SizeIs(4));
    for (const std::vector<nanoseconds>& iteration : *times) {
      ASSERT_THAT(iteration, SizeIs(3));
      EXPECT_GT(iteration[0], 0s);
      EXPECT_EQ(iteration[1], 0s);
      EXPECT_GT(iteration[2], 0s);
    }
  });
}

MeasureRequest request_of(int nodes, Collective collective) {
  MeasureRequest request;
  request.cluster.nodes = nodes;
  request.communication.channels = 2;
  request.communication.slot_size = {1024};
  request.workload.collective = collective;
  request.workload.sizes = {{30'000}};
  request.series = {.iterations = 2, .warmup = 1};
  request.timeout = 60s;
  request.ladder = true;
  return request;
}

TEST(MeasuredLadder, HasFiveRungsAndSaysWhichNobodyMeasures) {
  on_ranks(3, [&](const RankResources& rank) {
    const Measurement measured = measure(request_of(3, Collective::kAllReduce), rank);
    EXPECT_THAT(measured.failures, IsEmpty());
    EXPECT_THAT(measured.rows, SizeIs(2));
    ASSERT_THAT(measured.ladder, SizeIs(5));
    EXPECT_THAT(measured.ladder[0].missing, HasSubstr("wire"));
    EXPECT_THAT(measured.ladder[2].missing, HasSubstr("host memory"));
    for (const std::size_t there : {1U, 3U, 4U}) {
      const LadderRow& row = measured.ladder[there];
      EXPECT_THAT(row.missing, IsEmpty());
      EXPECT_GT(row.time.ps, 0);
      EXPECT_EQ(row.iterations, 2);
      // Of three ranks: 4 steps of 10000 B each.
      EXPECT_EQ(row.carried, Bytes{row.rung == Rung::kCollective ? 40'000 : 10'000});
    }
    EXPECT_EQ(measured.ladder[4].time, measured.rows[0].time);
  });
}

// Counts what is made by it.
class CountingMaker final : public EndpointMaker {
 public:
  explicit CountingMaker(EndpointMaker& inner) : inner_(inner) {}
  std::unique_ptr<Endpoint> make(const EndpointRequest& request) override {
    ++made;
    return inner_.make(request);
  }
  int made = 0;

 private:
  EndpointMaker& inner_;
};

// Two ranks on one GPU; what `look` is told: how many endpoints were made for the GPU's memory, and
// how many for the host's.
void on_gpu_ranks(bool host_beside,
                  const std::function<void(const Measurement&, int gpu, int host)>& look) {
  const fake::FakeCuda cuda;
  ThreadGroup group(2, 60s);
  MemoryMeetingPlace place;
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadExchange exchange(group, rank);
      RankGpu gpu(0, fake::FakeCuda::library(), fake::kernel_image());
      GpuRankMemory memory(gpu);
      MemoryEndpointMaker copying(place, exchange, [&gpu](std::size_t connections) {
        return std::make_unique<GpuSlotCopier>(gpu.device(), connections);
      });
      MemoryEndpointMaker threads_alone(place, exchange);
      CountingMaker of_gpu(copying);
      CountingMaker of_host(threads_alone);
      HostRankMemory beside;
      RankResources resources{exchange, of_gpu, memory};
      if (host_beside) resources.host.emplace(HostSide{of_host, beside});
      const Measurement measured = measure(request_of(2, Collective::kAllReduce), resources);
      look(measured, of_gpu.made, of_host.made);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(MeasuredLadder, WritesFromHostMemoryAndFromTheGpus) {
  on_gpu_ranks(true, [](const Measurement& measured, int gpu, int host) {
    EXPECT_THAT(measured.failures, IsEmpty());
    ASSERT_THAT(measured.ladder, SizeIs(5));
    for (const std::size_t rung : {1U, 2U, 3U, 4U}) {
      EXPECT_THAT(measured.ladder[rung].missing, IsEmpty());
      EXPECT_GT(measured.ladder[rung].time.ps, 0);
    }
    // The pair, the step, and both halves of the collective.
    EXPECT_EQ(gpu, 4);
    EXPECT_EQ(host, 1);
    for (const ResultRow& row : measured.rows) EXPECT_EQ(row.measured->wrong, 0);
  });
}

TEST(MeasuredLadder, LeavesOutHostMemoryWhereThereIsNoneBesideTheGpus) {
  on_gpu_ranks(false, [](const Measurement& measured, int gpu, int host) {
    ASSERT_THAT(measured.ladder, SizeIs(5));
    EXPECT_EQ(measured.ladder[1].missing, "ranks here have memory of GPUs alone");
    EXPECT_THAT(measured.ladder[2].missing, IsEmpty());
    EXPECT_EQ(gpu, 4);
    EXPECT_EQ(host, 0);
  });
}

TEST(MeasuredLadder, HasNoStepWhereNothingIsReduced) {
  on_ranks(2, [&](const RankResources& rank) {
    const Measurement measured = measure(request_of(2, Collective::kSendRecv), rank);
    ASSERT_THAT(measured.ladder, SizeIs(5));
    EXPECT_EQ(measured.ladder[3].missing, "this collective reduces nothing");
  });
}

// Two ranks, one channel: after the step each holds, in the chunk of the other, both inputs' sum.
// The input of what is timed is the test pattern, whose elements of both ranks are known integers.
TEST(RingStep, AddsWhatNeighboursSent) {
  MeasureRequest request = request_of(2, Collective::kAllReduce);
  request.communication.channels = 1;
  request.communication.one_step = true;
  const Placement placement =
      place(request.cluster, request.communication, request.workload.collective);
  on_ranks(2, [&](const RankResources& rank) {
    HalfRow half(request, request.communication, placement, rank, Bytes{4000}, false);
    ASSERT_TRUE(half.times());
    std::vector<float> own(1000);
    std::vector<float> out(1000);
    rank.memory.read({Region::kInput, {}}, std::as_writable_bytes(std::span(own)));
    rank.memory.read({Region::kOutput, {}}, std::as_writable_bytes(std::span(out)));
    std::vector<std::vector<std::byte>> inputs =
        rank.exchange.all_gather(std::as_bytes(std::span(own)));
    const Rank other = 1 - rank.exchange.rank();
    std::vector<float> theirs(1000);
    std::memcpy(theirs.data(), inputs[static_cast<std::size_t>(other)].data(), 4000);
    // Chunk p is of the rank at position p of the ring.
    const auto first = static_cast<std::size_t>(placement.rings[0][0] == other ? 0 : 500);
    for (std::size_t i = first; i < first + 500; ++i) {
      ASSERT_EQ(out[i], own[i] + theirs[i]) << "element " << i;
    }
  });
}

}  // namespace
}  // namespace gradhaul

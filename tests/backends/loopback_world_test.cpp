#include "backends/loopback/loopback_world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <numeric>
#include <vector>

#include "core/ring_schedule.h"

namespace gradhaul {
namespace {

using testing::Each;
using testing::HasSubstr;
using Kind = LoopbackOutcome::Kind;

constexpr std::int64_t kCount = 12;

std::vector<Rank> ring_of(Rank ranks) {
  std::vector<Rank> ring(static_cast<std::size_t>(ranks));
  std::iota(ring.begin(), ring.end(), 0);
  return ring;
}

class LoopbackWorldTest : public testing::Test {
 protected:
  static LoopbackWorldSettings settings() {
    LoopbackWorldSettings settings;
    settings.engine = {DataType::kInt32, Reduction::kSum, 2, {8}};
    settings.input_elements = settings.output_elements = kCount;
    settings.fabric.poison_returned_slots = true;
    settings.fabric.check_sources = true;
    return settings;
  }
  // Rank r brings r + 1 everywhere.
  static void fill(LoopbackWorld& world) {
    for (Rank rank = 0; rank < world.ranks(); ++rank) {
      const std::vector<std::int32_t> elements(kCount, rank + 1);
      std::memcpy(world.input(rank).data(), elements.data(), kCount * sizeof elements[0]);
    }
  }
  static std::vector<std::int32_t> elements(std::span<const std::byte> bytes) {
    std::vector<std::int32_t> elements(bytes.size() / sizeof(std::int32_t));
    std::memcpy(elements.data(), bytes.data(), bytes.size());
    return elements;
  }

  static constexpr Rank kRanks = 4;
  const RingSchedule ring_{{kCount, DataType::kInt32, 1, kRanks, {8}}, {ring_of(kRanks)}};
};

TEST_F(LoopbackWorldTest, EveryRankEndsWithTheSum) {
  for (const bool in_place : {false, true}) {
    LoopbackWorldSettings settings = this->settings();
    settings.in_place = in_place;
    LoopbackWorld world(ring_, settings);
    fill(world);
    FifoChooser fifo;
    EXPECT_EQ(world.run(fifo).kind, Kind::kFinished);
    for (Rank rank = 0; rank < kRanks; ++rank) {
      EXPECT_THAT(elements(world.output(rank)), Each(1 + 2 + 3 + 4));
      EXPECT_THAT(elements(world.input(rank)), Each(in_place ? 10 : rank + 1));
    }
  }
}

TEST_F(LoopbackWorldTest, TheSameSeedGivesTheSameOrder) {
  const auto order = [&](std::uint64_t seed) {
    LoopbackWorld world(ring_, settings());
    fill(world);
    RandomChooser random(seed);
    std::vector<std::int64_t> ordinals;
    world.start();
    do {
      for (const Deliverable& head : world.fabric().deliverable()) ordinals.push_back(head.ordinal);
    } while (world.step(random));
    return ordinals;
  };
  EXPECT_EQ(order(1), order(1));
  EXPECT_NE(order(1), order(2));
}

TEST_F(LoopbackWorldTest, AFailedWriteEndsInOrderAndKeepsWhatWasFinished) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    LoopbackWorld world(ring_, settings());
    fill(world);
    world.fabric().fail_write({.channel = 0, .source = 1, .destination = 2, .stream = 0},
                              static_cast<std::int64_t>(seed % 6));
    RandomChooser random(seed);
    const LoopbackOutcome outcome = world.run(random);
    EXPECT_EQ(outcome.kind, Kind::kFailed);
    EXPECT_EQ(world.engine(1).status(), CompletionStatus::kFailed);
    EXPECT_EQ(world.engine(2).status(), CompletionStatus::kFailed);
    EXPECT_EQ(world.engine(3).status(), CompletionStatus::kOk);
    EXPECT_FALSE(world.engine(2).finished());
    for (Rank rank = 0; rank < kRanks; ++rank) {
      EXPECT_THAT(elements(world.input(rank)), Each(rank + 1)) << "inputs are as they were";
    }
  }
}

// A schedule with a dead end: rank 1 expects a message that nobody sends.
class NobodySends final : public Schedule {
 public:
  Rank ranks() const override { return 2; }
  int channels() const override { return 1; }
  int lanes() const override { return 2; }
  std::int64_t items(Rank rank, int /*channel*/, int lane) const override {
    return lane == 0 ? 1 : rank;
  }
  Item item(Rank rank, int /*channel*/, int lane, std::int64_t /*index*/) const override {
    Item item;
    item.span = {lane, 1};
    if (rank == 0) {
      item.send_count = 1;
      item.sends[0] = {1, 0, Region::kInput, {0, 1}};
    } else {
      item.operation = Operation::kCopy;
      item.receive_count = 1;
      item.receives[0] = {0, 0};
    }
    if (lane == 1) item.after = Dependency{1, 0};
    if (lane == 1) item.receive_count = 0;
    return item;
  }
};

TEST_F(LoopbackWorldTest, AStallIsReportedWithWhoWaitsForWhom) {
  const NobodySends schedule;
  LoopbackWorld world(schedule, settings());
  FifoChooser fifo;
  const LoopbackOutcome outcome = world.run(fifo);
  EXPECT_EQ(outcome.kind, Kind::kStalled);
  EXPECT_THAT(outcome.report, HasSubstr("item 0 of lane 1"));
}

// A ring that overwrites its partial sums before they are written out. What overwrites them has
// been all the way round, so the bits come out right; but it is not what the contract allows.
class HastyRing final : public Schedule {
 public:
  explicit HastyRing(const RingSchedule& ring) : ring_(ring) {}
  Rank ranks() const override { return ring_.ranks(); }
  int channels() const override { return ring_.channels(); }
  int lanes() const override { return ring_.lanes(); }
  std::int64_t items(Rank rank, int channel, int lane) const override {
    return ring_.items(rank, channel, lane);
  }
  Item item(Rank rank, int channel, int lane, std::int64_t index) const override {
    Item item = ring_.item(rank, channel, lane, index);
    item.after.reset();
    return item;
  }

 private:
  const RingSchedule& ring_;
};

TEST_F(LoopbackWorldTest, AScheduleThatOverwritesASourceTooEarlyIsFound) {
  const HastyRing hasty(ring_);
  const auto run = [&](const Schedule& schedule) {
    LoopbackWorld world(schedule, settings());
    fill(world);
    StarvingChooser done_last(CompletionKind::kWriteDone, 1);
    return world.run(done_last).kind;
  };
  EXPECT_EQ(run(ring_), Kind::kFinished);
  EXPECT_DEATH(run(hasty), "stays as it is until its write is done");
}

// The fabric by itself: two ranks, one connection, two slots of eight bytes.
class LoopbackFabricTest : public testing::Test {
 protected:
  class Log final : public CompletionSink {
   public:
    void on_completion(const Completion& completion) override { seen.push_back(completion); }
    std::vector<Completion> seen;
  };

  explicit LoopbackFabricTest(LoopbackSettings settings = {})
      : fabric_({{{{{0, 0, 1, 0}, true, {}}}, {source_, source_, {}}},
                 {{{{0, 0, 1, 0}, false, {}}}, {{}, {}, slots_}}},
                {2, {8}}, settings) {}

  void post(std::int32_t slot, std::int64_t offset) {
    WriteRequest request;
    request.source = {Region::kInput, {offset}};
    request.length = {8};
    request.slot = slot;
    fabric_.transport(0).post_write(request);
  }
  void post_credit(std::int32_t slots) {
    WriteRequest request;
    request.kind = WriteKind::kCredit;
    request.slots_returned = slots;
    fabric_.transport(1).post_write(request);
  }
  void deliver(CompletionKind kind) {
    const auto deliverable = fabric_.deliverable();
    for (std::size_t i = 0; i < deliverable.size(); ++i) {
      if (deliverable[i].kind == kind) return fabric_.deliver(i, sinks_);
    }
    FAIL() << "not deliverable";
  }

  std::vector<std::byte> source_ = std::vector<std::byte>(16, std::byte{1});
  std::vector<std::byte> slots_ = std::vector<std::byte>(16);
  std::array<Log, 2> logs_;
  std::array<CompletionSink*, 2> sinks_{&logs_[0], &logs_[1]};
  LoopbackFabric fabric_;
};

TEST_F(LoopbackFabricTest, NothingIsDeliverableBeforeTheFlush) {
  post(0, 0);
  EXPECT_TRUE(fabric_.deliverable().empty());
  fabric_.transport(0).flush();
  EXPECT_EQ(fabric_.deliverable().size(), 2U);
}

TEST_F(LoopbackFabricTest, BytesAreThoseOfTheFirstOfBothCompletions) {
  post(0, 0);
  post(1, 8);
  fabric_.transport(0).flush();
  source_.assign(16, std::byte{2});
  deliver(CompletionKind::kWriteDone);
  source_.assign(16, std::byte{3});
  deliver(CompletionKind::kWriteArrived);
  EXPECT_EQ(slots_[0], std::byte{2}) << "read when the write was done, not when it was posted";
  deliver(CompletionKind::kWriteArrived);
  EXPECT_EQ(slots_[8], std::byte{3}) << "read when it arrived";
}

class EagerLoopbackFabricTest : public LoopbackFabricTest {
 protected:
  EagerLoopbackFabricTest() : LoopbackFabricTest(eager()) {}
  static LoopbackSettings eager() {
    LoopbackSettings settings;
    settings.copy = CopyMoment::kAtPost;
    return settings;
  }
};

TEST_F(EagerLoopbackFabricTest, BytesAreThoseOfThePost) {
  post(0, 0);
  source_.assign(16, std::byte{2});
  fabric_.transport(0).flush();
  deliver(CompletionKind::kWriteArrived);
  EXPECT_EQ(slots_[0], std::byte{1});
}

class StrictLoopbackFabricTest : public LoopbackFabricTest {
 protected:
  StrictLoopbackFabricTest() : LoopbackFabricTest(strict()) {}
  static LoopbackSettings strict() {
    LoopbackSettings settings;
    settings.check_sources = true;
    settings.poison_returned_slots = true;
    settings.limits.max_writes_in_flight = 1;
    settings.limits.max_write = {8};
    return settings;
  }
};

TEST_F(StrictLoopbackFabricTest, ASourceChangedTooEarlyIsAProgrammerError) {
  post(0, 0);
  fabric_.transport(0).flush();
  source_[3] = std::byte{9};
  EXPECT_DEATH(deliver(CompletionKind::kWriteDone), "stays as it is until its write is done");
}

TEST_F(StrictLoopbackFabricTest, LimitsAreAsserted) {
  post(0, 0);
  EXPECT_DEATH(post(1, 8), "no more data writes are in flight than the limit");
}

TEST_F(StrictLoopbackFabricTest, ReturnedSlotsAreOverwritten) {
  post(0, 0);
  fabric_.transport(0).flush();
  deliver(CompletionKind::kWriteArrived);
  EXPECT_EQ(slots_[7], std::byte{1});
  post_credit(1);
  EXPECT_EQ(slots_[7], kPoison);
}

TEST_F(LoopbackFabricTest, SlotsAreHeldUntilTheirReturnHasArrived) {
  post(0, 0);
  fabric_.transport(0).flush();
  EXPECT_DEATH(post_credit(1), "only slots in which something arrived are returned");
  deliver(CompletionKind::kWriteArrived);
  deliver(CompletionKind::kWriteDone);
  EXPECT_DEATH(post(0, 0), "written only after it was returned");
  post_credit(1);
  fabric_.transport(1).flush();
  EXPECT_DEATH(post(0, 0), "written only after it was returned");
  deliver(CompletionKind::kCreditArrived);
  post(0, 0);
  EXPECT_DEATH(post(2, 0), "no such slot");
}

TEST_F(LoopbackFabricTest, AFailureIsToldOnceAtEachEndAndFlushesTheRest) {
  fabric_.fail_write({0, 0, 1, 0}, 0);
  post(0, 0);
  post(1, 8);
  fabric_.transport(0).flush();
  while (!fabric_.deliverable().empty()) fabric_.deliver(0, sinks_);
  for (const Log& log : logs_) {
    ASSERT_EQ(log.seen.size(), 2U);
    EXPECT_EQ(log.seen[0].status, CompletionStatus::kFailed);
    EXPECT_EQ(log.seen[1].status, CompletionStatus::kFlushed);
  }
  EXPECT_EQ(slots_[0], std::byte{0});
}

TEST(LoopbackWiring, BothEndsMustBeThere) {
  std::vector<std::byte> slots(8);
  const ConnectionEnd sending{{0, 0, 1, 0}, true, {}};
  const ConnectionEnd other{{0, 0, 1, 1}, false, {}};
  const HostMemory memory{{}, {}, slots};
  const auto wire = [&](const std::vector<LoopbackRank>& ranks) {
    const LoopbackFabric fabric(ranks, {1, {8}}, {});
  };
  EXPECT_DEATH(wire({{{sending}, memory}, {{}, memory}}), "two ends");
  EXPECT_DEATH(wire({{{sending}, memory}, {{other}, memory}}), "two ends");
}

}  // namespace
}  // namespace gradhaul

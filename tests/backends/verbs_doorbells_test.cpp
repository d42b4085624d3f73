// Chains, signals, inline data, waiting: how work requests are handed over and taken back.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <vector>

#include "tests/fake_verbs/joined_ranks.h"

namespace gradhaul {
namespace {

using fake::JoinedRanks;
using testing::Each;
using testing::IsEmpty;
using testing::SizeIs;

TEST(VerbsDoorbells, OneFlushIsOneDoorbellAndOneSignal) {
  JoinedRanks ranks(2);
  ASSERT_THAT(ranks.join(), Each(IsEmpty()));
  for (int slot = 0; slot < 4; ++slot) ranks.write(0, slot);
  EXPECT_EQ(ranks.verbs(0).send_calls, 0);
  ranks.endpoint(0).flush();
  EXPECT_EQ(ranks.verbs(0).send_calls, 1);
  ranks.endpoint(0).flush();
  EXPECT_EQ(ranks.verbs(0).send_calls, 1);
  ranks.settle();
  EXPECT_THAT(ranks.seen(0).of(CompletionKind::kWriteDone), SizeIs(4));
  const VerbsEndpoint::Doorbells bells = ranks.endpoint(0).doorbells();
  EXPECT_EQ(bells.posted, 4);
  EXPECT_EQ(bells.signalled, 1);
  EXPECT_EQ(bells.rings, 1);
}

// Of 4 in a chain each 3rd, and the last.
TEST(VerbsDoorbells, EachSoManythIsSignalledAndTheLast) {
  VerbsSettings settings = JoinedRanks::no_deadline();
  settings.signal_interval = 3;
  JoinedRanks ranks(2, settings);
  ASSERT_THAT(ranks.join(), Each(IsEmpty()));
  for (int slot = 0; slot < 4; ++slot) ranks.write(0, slot);
  ranks.endpoint(0).flush();
  EXPECT_EQ(ranks.endpoint(0).doorbells().signalled, 2);
  ranks.settle();
  EXPECT_THAT(ranks.seen(0).of(CompletionKind::kWriteDone), SizeIs(4));
}

// Data goes as plain writes, which the peer does not hear of; what it hears of is empty, and comes
// behind them on the same queue pair.
TEST(VerbsDoorbells, TheImmediateFollowsByItselfWhereItIsAskedTo) {
  for (const bool split : {false, true}) {
    VerbsSettings settings = JoinedRanks::no_deadline();
    settings.immediate_apart = true;
    settings.split_writes = split;
    settings.queue_pairs = 2;
    settings.inline_bytes = 0;
    JoinedRanks ranks(2, settings);
    ASSERT_THAT(ranks.join(), Each(IsEmpty()));
    std::map<ibv_wr_opcode, std::vector<std::uint64_t>> lengths;
    ranks.fabric.verdict = [&](const fake::FakeQp&, const fake::FakeSend& send) {
      std::uint64_t length = 0;
      for (const ibv_sge& piece : send.pieces) length += piece.length;
      lengths[send.request.opcode].push_back(length);
      return IBV_WC_SUCCESS;
    };
    for (std::size_t i = 0; i < 300; ++i) ranks.input(0)[i] = static_cast<std::byte>(i * 7 + 1);
    for (int slot = 0; slot < 3; ++slot) ranks.write(0, slot, 300);
    ranks.endpoint(0).flush();
    ranks.settle();
    // Parts begin at multiples of 128 bytes.
    const std::vector<std::uint64_t> data =
        split ? std::vector<std::uint64_t>{44, 44, 44, 256, 256, 256}
              : std::vector<std::uint64_t>{300, 300, 300};
    std::ranges::sort(lengths[IBV_WR_RDMA_WRITE]);
    EXPECT_EQ(lengths[IBV_WR_RDMA_WRITE], data);
    EXPECT_EQ(lengths[IBV_WR_RDMA_WRITE_WITH_IMM], std::vector<std::uint64_t>(data.size()));
    const auto arrived = ranks.seen(1).of(CompletionKind::kWriteArrived);
    ASSERT_THAT(arrived, SizeIs(3));
    for (const Completion& completion : arrived) EXPECT_EQ(completion.amount, 300);
    for (std::size_t slot = 0; slot < 3; ++slot) {
      const auto begin = ranks.slots(1).begin() + static_cast<std::ptrdiff_t>(1024 * slot);
      EXPECT_TRUE(std::equal(begin, begin + 300, ranks.input(0).begin()));
    }
    EXPECT_THAT(ranks.seen(0).of(CompletionKind::kWriteDone), SizeIs(3));
    EXPECT_THAT(ranks.fabric.mistakes, IsEmpty());
  }
}

// The send queue is as long as what may be in flight, and unsignalled requests stay in it until a
// signalled one is polled: the fake refuses one too many.
TEST(VerbsDoorbells, TheSendQueueNeverOverflows) {
  for (const int interval : {1, 2, 5, 100, -5}) {
    VerbsSettings settings = JoinedRanks::no_deadline();
    settings.immediate_apart = interval < 0;
    settings.signal_interval = std::abs(interval);
    settings.max_writes_in_flight = 5;
    settings.queue_pairs = 3;
    JoinedRanks ranks(2, settings);
    ASSERT_THAT(ranks.join(), Each(IsEmpty()));
    std::int64_t posted = 0;
    std::int64_t returned = 0;
    while (posted < 500) {
      auto& here = ranks.seen(0);
      const auto done = static_cast<std::int64_t>(here.of(CompletionKind::kWriteDone).size());
      const auto credits =
          static_cast<std::int64_t>(here.of(CompletionKind::kCreditArrived).size());
      while (posted < 500 && posted - done < 5 && posted < credits + 4) {
        ranks.write(0, static_cast<std::int32_t>(posted % 4), 1 + posted % 100);
        ++posted;
      }
      ranks.endpoint(0).flush();
      ranks.fabric.step();
      ranks.endpoint(0).poll(here);
      ranks.endpoint(1).poll(ranks.seen(1));
      const auto arrived =
          static_cast<std::int64_t>(ranks.seen(1).of(CompletionKind::kWriteArrived).size());
      const auto credits_done =
          static_cast<std::int64_t>(ranks.seen(1).of(CompletionKind::kCreditDone).size());
      while (returned < arrived && returned - credits_done < 5) {
        ranks.credit(1, 1);
        ++returned;
      }
      ranks.endpoint(1).flush();
    }
    ranks.settle();
    EXPECT_THAT(ranks.seen(1).of(CompletionKind::kWriteArrived), SizeIs(500));
    EXPECT_FALSE(ranks.endpoint(0).failure());
    EXPECT_THAT(ranks.fabric.mistakes, IsEmpty()) << "interval " << interval;
  }
}

// What is posted from inside deliveries goes out once the poll is over, together.
TEST(VerbsDoorbells, PostsFromDeliveriesShareADoorbell) {
  JoinedRanks ranks(2);
  ASSERT_THAT(ranks.join(), Each(IsEmpty()));
  for (int slot = 0; slot < 4; ++slot) ranks.write(0, slot);
  ranks.endpoint(0).flush();
  while (ranks.fabric.step()) {
  }
  class ReturnsEach final : public CompletionSink {
   public:
    explicit ReturnsEach(JoinedRanks& joined) : ranks_(joined) {}
    void on_completion(const Completion& completion) override {
      if (completion.kind != CompletionKind::kWriteArrived) return;
      ++arrived;
      ranks_.credit(1, 1);
      ranks_.endpoint(1).flush();
      EXPECT_EQ(ranks_.endpoint(1).doorbells().rings, rings_before);
    }
    int arrived = 0;
    std::int64_t rings_before = 0;

   private:
    JoinedRanks& ranks_;
  };
  ReturnsEach sink(ranks);
  while (sink.arrived < 4) {
    sink.rings_before = ranks.endpoint(1).doorbells().rings;
    ranks.endpoint(1).poll(sink);
  }
  EXPECT_LT(ranks.endpoint(1).doorbells().rings, 5);
  EXPECT_EQ(ranks.endpoint(1).doorbells().posted, 4);
}

TEST(VerbsDoorbells, WaitingWakesForACompletion) {
  VerbsSettings settings = JoinedRanks::no_deadline();
  settings.completion = CompletionMode::kEvents;
  JoinedRanks ranks(2, settings);
  ASSERT_THAT(ranks.join(), Each(IsEmpty()));
  VerbsEndpoint& receiver = ranks.endpoint(1);
  using Clock = std::chrono::steady_clock;
  receiver.wait(std::chrono::seconds{60});  // only asks to be woken
  ranks.write(0, 0);
  ranks.endpoint(0).flush();
  while (ranks.fabric.step()) {
  }
  const auto start = Clock::now();
  receiver.wait(std::chrono::seconds{60});
  EXPECT_LT(Clock::now() - start, std::chrono::seconds{30});
  EXPECT_TRUE(receiver.poll(ranks.seen(1)));
  // And sleeps where nothing comes.
  receiver.wait(std::chrono::milliseconds{50});
  const auto asleep = Clock::now();
  receiver.wait(std::chrono::milliseconds{50});
  EXPECT_GE(Clock::now() - asleep, std::chrono::milliseconds{40});
}

}  // namespace
}  // namespace gradhaul

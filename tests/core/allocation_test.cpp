// Nothing is allocated on the completion path: this program counts every `new`.

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "core/collective_engine.h"
#include "core/double_binary_tree_schedule.h"
#include "core/pairwise_schedule.h"
#include "core/ring_schedule.h"
#include "tests/core/schedule_cases.h"

namespace {

std::int64_t allocations = 0;

}  // namespace

// Out of line, lest the compiler see malloc and free and miss their pairing with these.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
// std::stable_sort takes its buffer by this one, and gives it back to the same delete.
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace gradhaul {
namespace {

// All ranks in one first-in-first-out queue of a size taken beforehand.
class QueuedRanks {
 public:
  QueuedRanks(const Schedule& schedule, const EngineSettings& settings) {
    queue_.reserve(1'000'000);
    for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
      engines_.push_back(std::make_unique<CollectiveEngine>(schedule, rank, settings));
      seams_.push_back({*this, rank});
    }
    for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
      for (const ConnectionEnd& end : engine(rank).connections()) {
        const Rank peer = end.sends ? end.key.destination : end.key.source;
        const std::vector<ConnectionEnd>& others = engine(peer).connections();
        std::int32_t id = 0;
        while (others[static_cast<std::size_t>(id)].key != end.key) ++id;
        seams_[static_cast<std::size_t>(rank)].peers.push_back({peer, id});
      }
    }
  }

  void run() {
    for (Seam& seam : seams_) engine(seam.rank).start(seam, seam);
    for (std::size_t next = 0; next < queue_.size(); ++next) {
      const auto [rank, completion] = queue_[next];
      engine(rank).on_completion(completion);
    }
  }
  bool finished() const {
    for (const auto& engine : engines_) {
      if (!engine->finished()) return false;
    }
    return true;
  }

 private:
  struct Peer {
    Rank rank;
    std::int32_t id;
  };
  struct Seam final : Transport, Reducer {
    Seam(QueuedRanks& all_ranks, Rank own_rank) : all(all_ranks), rank(own_rank) {}
    TransportLimits limits() const override { return {}; }
    void flush() override {}
    void post_write(const WriteRequest& request) override {
      const bool data = request.kind == WriteKind::kData;
      const Peer peer = peers[static_cast<std::size_t>(request.connection)];
      all.add(rank, {data ? CompletionKind::kWriteDone : CompletionKind::kCreditDone,
                     CompletionStatus::kOk, request.connection, 0});
      all.add(peer.rank, {data ? CompletionKind::kWriteArrived : CompletionKind::kCreditArrived,
                          CompletionStatus::kOk, peer.id,
                          data ? request.length.count : request.slots_returned});
    }
    void post_reduce(const ReduceRequest& request) override {
      all.add(rank, {CompletionKind::kReduceDone, CompletionStatus::kOk, request.stream, 0});
    }
    QueuedRanks& all;
    Rank rank;
    std::vector<Peer> peers;
  };

  void add(Rank rank, const Completion& completion) {
    ASSERT_LT(queue_.size(), queue_.capacity());
    queue_.push_back({rank, completion});
  }
  CollectiveEngine& engine(Rank rank) { return *engines_[static_cast<std::size_t>(rank)]; }

  std::vector<std::unique_ptr<CollectiveEngine>> engines_;
  std::vector<Seam> seams_;
  std::vector<std::pair<Rank, Completion>> queue_;
};

void expect_no_allocation(const Schedule& schedule) {
  EngineSettings settings;
  settings.slots = 3;
  settings.slot_size = Bytes{16};
  QueuedRanks ranks(schedule, settings);
  const std::int64_t before = allocations;
  ranks.run();
  EXPECT_EQ(allocations, before);
  EXPECT_TRUE(ranks.finished());
}

TEST(Allocation, NoneAfterConstruction) {
  const auto plan = [](std::int64_t count, int parts) {
    return MessagePlan(count, DataType::kFp32, 2, parts, Bytes{16});
  };
  expect_no_allocation(RingSchedule(plan(1000, 8), turned_rings(2, 8)));
  expect_no_allocation(DoubleBinaryTreeSchedule(plan(1000, 2), turned_rings(2, 8), 2));
  expect_no_allocation(PairwiseSchedule(plan(100, 1), 8));
}

}  // namespace
}  // namespace gradhaul

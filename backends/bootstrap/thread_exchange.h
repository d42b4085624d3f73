#pragma once

// An Exchange between threads of one process, one for each rank.

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <vector>

#include "backends/bootstrap/exchange.h"

namespace gradhaul {

// What the threads share; outlives their exchanges.
class ThreadGroup {
 public:
  ThreadGroup(Rank ranks, std::chrono::milliseconds deadline);

 private:
  friend class ThreadExchange;
  using Records = std::vector<std::vector<std::byte>>;

  const Rank ranks_;
  const std::chrono::milliseconds deadline_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Records records_;
  Rank given_ = 0;
  Records gathered_;         // of the last round that is complete
  std::int64_t rounds_ = 0;  // complete
  std::vector<RankFailure> failures_;
};

class ThreadExchange final : public Exchange {
 public:
  ThreadExchange(ThreadGroup& group, Rank rank) : group_(group), rank_(rank) {}
  Rank rank() const override { return rank_; }
  Rank ranks() const override { return group_.ranks_; }
  std::vector<std::vector<std::byte>> all_gather(std::span<const std::byte> record) override;
  void abort(const RankFailure& failure) override;
  std::optional<RankFailure> aborted() override;
  std::vector<RankFailure> failures() override;

 private:
  ThreadGroup& group_;
  Rank rank_;
};

}  // namespace gradhaul

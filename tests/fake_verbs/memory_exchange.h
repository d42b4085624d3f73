#pragma once

// An Exchange between the ranks of one process, each on a thread of its own while it gathers.

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "backends/bootstrap/exchange.h"

namespace gradhaul::fake {

class MemoryExchangeHub {
 public:
  explicit MemoryExchangeHub(Rank ranks) : records_(static_cast<std::size_t>(ranks)) {}

 private:
  friend class MemoryExchange;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::vector<std::byte>> records_;
  std::vector<std::vector<std::byte>> gathered_;
  std::size_t given_ = 0;
  int rounds_ = 0;
  std::optional<RankFailure> failure_;
};

class MemoryExchange final : public Exchange {
 public:
  MemoryExchange(MemoryExchangeHub& hub, Rank rank) : hub_(hub), rank_(rank) {}

  Rank rank() const override { return rank_; }
  Rank ranks() const override { return static_cast<Rank>(hub_.records_.size()); }

  std::vector<std::vector<std::byte>> all_gather(std::span<const std::byte> record) override {
    std::unique_lock lock(hub_.mutex_);
    hub_.records_[static_cast<std::size_t>(rank_)].assign(record.begin(), record.end());
    const int round = hub_.rounds_;
    if (++hub_.given_ == hub_.records_.size()) {
      hub_.gathered_ = hub_.records_;
      hub_.given_ = 0;
      ++hub_.rounds_;
      hub_.changed_.notify_all();
    }
    hub_.changed_.wait(lock, [&] { return hub_.rounds_ > round; });
    return hub_.gathered_;
  }

  void abort(const RankFailure& failure) override {
    const std::scoped_lock lock(hub_.mutex_);
    if (!hub_.failure_) hub_.failure_ = failure;
  }
  std::optional<RankFailure> aborted() override {
    const std::scoped_lock lock(hub_.mutex_);
    return hub_.failure_ && hub_.failure_->rank != rank_ ? hub_.failure_ : std::nullopt;
  }

 private:
  MemoryExchangeHub& hub_;
  Rank rank_;
};

// Calls step(rank) for each rank at once, and returns when all have.
template <typename Step>
void for_ranks_at_once(Rank ranks, const Step& step) {
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < ranks; ++rank) threads.emplace_back([&step, rank] { step(rank); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace gradhaul::fake

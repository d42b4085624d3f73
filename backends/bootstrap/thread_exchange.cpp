#include "backends/bootstrap/thread_exchange.h"

#include <string>

#include "backends/bootstrap/failure_order.h"
#include "core/assert.h"

namespace gradhaul {

ThreadGroup::ThreadGroup(Rank ranks, std::chrono::milliseconds deadline)
    : ranks_(ranks), deadline_(deadline), records_(static_cast<std::size_t>(ranks)) {
  GRADHAUL_ASSERT(ranks >= 1, "somebody has to be there");
}

std::vector<std::vector<std::byte>> ThreadExchange::all_gather(std::span<const std::byte> record) {
  std::unique_lock lock(group_.mutex_);
  group_.records_[static_cast<std::size_t>(rank_)].assign(record.begin(), record.end());
  const std::int64_t round = group_.rounds_;
  if (++group_.given_ == group_.ranks_) {
    group_.gathered_ = group_.records_;
    group_.given_ = 0;
    ++group_.rounds_;
    group_.changed_.notify_all();
  }
  const bool heard = group_.changed_.wait_for(
      lock, group_.deadline_, [&] { return group_.rounds_ > round || !group_.failures_.empty(); });
  if (group_.rounds_ > round) return group_.gathered_;
  if (!heard) throw ExchangeError("not all ranks came within the deadline");
  throw ExchangeError(group_.failures_.front().what);
}

void ThreadExchange::abort(const RankFailure& failure) {
  const std::lock_guard lock(group_.mutex_);
  group_.failures_.push_back(failure);
  group_.changed_.notify_all();
}

std::optional<RankFailure> ThreadExchange::aborted() {
  const std::lock_guard lock(group_.mutex_);
  if (group_.failures_.empty()) return std::nullopt;
  return group_.failures_.front();
}

std::vector<RankFailure> ThreadExchange::failures() {
  const std::lock_guard lock(group_.mutex_);
  return by_likeliest_cause(group_.failures_);
}

}  // namespace gradhaul

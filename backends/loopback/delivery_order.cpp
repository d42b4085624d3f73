#include "backends/loopback/delivery_order.h"

#include <algorithm>

#include "core/assert.h"

namespace gradhaul {
namespace {

std::uint64_t split_mix(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15U;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

}  // namespace

std::size_t FifoChooser::choose(std::span<const Deliverable> /*deliverable*/) { return 0; }

std::size_t RandomChooser::choose(std::span<const Deliverable> deliverable) {
  // The upper half of a product, which needs no division and favours nobody by more than 2^-32.
  const std::uint64_t draw = split_mix(state_) >> 32;
  return static_cast<std::size_t>((draw * deliverable.size()) >> 32);
}

std::size_t StarvingChooser::choose(std::span<const Deliverable> deliverable) {
  const std::size_t first = random_.choose(deliverable);
  for (std::size_t i = 0; i < deliverable.size(); ++i) {
    const std::size_t index = (first + i) % deliverable.size();
    if (deliverable[index].kind != starved_) return index;
  }
  return first;
}

std::int32_t DeliveryAgenda::add_queue(Rank rank, CompletionKind kind, std::int32_t id) {
  const auto queue = static_cast<std::int32_t>(queues_.size());
  queues_.push_back({{.ordinal = 0, .queue = queue, .rank = rank, .kind = kind, .id = id}, {}});
  return queue;
}

void DeliveryAgenda::post(std::int32_t queue) {
  Queue& posted = queues_[static_cast<std::size_t>(queue)];
  const std::int64_t ordinal = next_ordinal_++;
  posted.ordinals.push_back(ordinal);
  if (posted.ordinals.size() > 1) return;
  heads_.push_back(posted.what);
  heads_.back().ordinal = ordinal;
}

Deliverable DeliveryAgenda::take(std::size_t index) {
  GRADHAUL_ASSERT(index < heads_.size(), "only what is deliverable is delivered");
  const Deliverable taken = heads_[index];
  heads_.erase(heads_.begin() + static_cast<std::ptrdiff_t>(index));
  Queue& queue = queues_[static_cast<std::size_t>(taken.queue)];
  queue.ordinals.pop_front();
  if (!queue.ordinals.empty()) {
    Deliverable next = queue.what;
    next.ordinal = queue.ordinals.front();
    const auto older = [](const Deliverable& a, const Deliverable& b) {
      return a.ordinal < b.ordinal;
    };
    heads_.insert(std::upper_bound(heads_.begin(), heads_.end(), next, older), next);
  }
  return taken;
}

}  // namespace gradhaul

#pragma once

// In which order completions are delivered, where everything happens in one process at no time of
// its own: whatever is posted could be complete, and somebody has to choose what is delivered next.
// Completions of one queue (a kind of one end of a connection, or a stream of a reducer) come in
// the order of the posts; between queues any order is allowed, and the chooser picks one.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "core/communication.h"
#include "core/completion.h"

namespace gradhaul {

// The oldest completion of a queue.
struct Deliverable {
  std::int64_t ordinal = 0;  // of its post, over all queues
  std::int32_t queue = 0;
  Rank rank = 0;  // to whom it is delivered
  CompletionKind kind = CompletionKind::kWriteDone;
  std::int32_t id = 0;  // the connection as `rank` numbers it, or the stream
};

class DeliveryChooser {
 public:
  // An index into `deliverable`, which is not empty and is in the order of the posts.
  virtual std::size_t choose(std::span<const Deliverable> deliverable) = 0;
  virtual ~DeliveryChooser() = default;
};

class FifoChooser final : public DeliveryChooser {
 public:
  std::size_t choose(std::span<const Deliverable> deliverable) override;
};

// Each with the same probability, by SplitMix64 (Steele, Lea & Flood, OOPSLA 2014).
class RandomChooser final : public DeliveryChooser {
 public:
  explicit RandomChooser(std::uint64_t seed) : state_(seed) {}
  std::size_t choose(std::span<const Deliverable> deliverable) override;

 private:
  std::uint64_t state_;
};

// Any order, but completions of one kind wait until nothing else is deliverable: far from what
// chance comes upon, and where those show who relies on a completion without waiting for it.
class StarvingChooser final : public DeliveryChooser {
 public:
  StarvingChooser(CompletionKind starved, std::uint64_t seed) : starved_(starved), random_(seed) {}
  std::size_t choose(std::span<const Deliverable> deliverable) override;

 private:
  CompletionKind starved_;
  RandomChooser random_;
};

// All that is posted and not delivered.
class DeliveryAgenda {
 public:
  std::int32_t add_queue(Rank rank, CompletionKind kind, std::int32_t id);
  void post(std::int32_t queue);
  // The heads of all queues that have one, oldest first.
  std::span<const Deliverable> deliverable() const { return heads_; }
  // Takes one of them off.
  Deliverable take(std::size_t index);

 private:
  struct Queue {
    Deliverable what;
    std::deque<std::int64_t> ordinals;
  };
  std::vector<Queue> queues_;
  std::vector<Deliverable> heads_;
  std::int64_t next_ordinal_ = 0;
};

}  // namespace gradhaul

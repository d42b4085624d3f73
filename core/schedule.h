#pragma once

// Algorithms are data. A schedule is a pure function of (rank, channel, lane, index): which slices
// are received from whom, what is done with them, where the result goes, to whom it is sent on, and
// what it must wait for. One engine (core/collective_engine.h) runs them all with the same slots,
// credits and slices; one checker (core/symbolic_checker.h) proves them. Items are
// computed, never stored: a rank's memory is O(peers).
//
// A lane is a stream of items of a channel that start in order; lanes of a channel never block each
// other (up and down of a tree). A connection is (channel, source, destination, stream): the n-th
// non-empty send on it meets the n-th non-empty receive on it. So all its sends are of one lane,
// and all its receives of one lane. Transfers whose span is empty are left out on both sides, which
// both sides can compute.

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <type_traits>

#include "core/communication.h"
#include "core/memory.h"
#include "core/message_plan.h"

namespace gradhaul {

inline constexpr int kMaxPeersOfItem = 4;

// `left` is the input's span, unless the item says otherwise.
enum class Operation : std::uint8_t {
  kNone,    // only sends
  kCopy,    // output[span] = what was received; without a receive: output[span] = left
  kReduce,  // output[span] = left op received[0] op received[1] …, from the left; or left op right
};

struct ItemReceive {
  Rank peer = 0;
  int stream = 0;
};

struct ItemSend {
  Rank peer = 0;
  int stream = 0;
  Region source = Region::kOutput;  // kInput or kOutput
  Span span;                        // as many elements as the peer's item receives
};

// Every item of `lane` (of the same rank) up to and including `index` is finished: its operation is
// done and its sends are written out (kWriteDone).
struct Dependency {
  int lane = 0;
  std::int64_t index = 0;
  int channel = -1;  // -1: the same; another one only where Schedule::crosses_channels()
};

// Elements of the rank's own memory, as many as an item's span and `shift` further on.
struct LocalOperand {
  Region region = Region::kOutput;
  std::int64_t shift = 0;
};

// What is done with what an item receives, and when it may be.
struct ItemOperation {
  Span span;  // where the operation puts its result: elements of the output
  Operation operation = Operation::kNone;
  bool last_reduction = false;  // the result is complete: avg divides here
  // Where `left` is: kOutput goes on with the sum that is there; `left_shift` elements after span.
  Region left = Region::kInput;
  std::int64_t left_shift = 0;
  std::optional<LocalOperand> right;  // of a reduction without receives
  int receive_count = 0;
  std::optional<Dependency> after;
};

// As many as are counted beside it; the others are not set to anything. Items are made several
// times a message, and to clear them would take longer than to fill them.
template <typename T>
class OfPeers {
 public:
  T& operator[](std::size_t i) { return places()[i]; }
  const T& operator[](std::size_t i) const { return const_cast<OfPeers*>(this)->places()[i]; }

 private:
  static_assert(std::is_aggregate_v<T> && std::is_trivially_copyable_v<T>,
                "assigned to where it is");
  T* places() { return std::launder(reinterpret_cast<T*>(bytes_)); }
  alignas(T) std::byte bytes_[sizeof(T) * kMaxPeersOfItem];
};

struct Item : ItemOperation {
  int send_count = 0;
  OfPeers<ItemReceive> receives;
  OfPeers<ItemSend> sends;  // each waits for the operation of this item
};

class Schedule {
 public:
  virtual ~Schedule() = default;
  virtual Rank ranks() const = 0;
  virtual int channels() const = 0;
  virtual int lanes() const = 0;
  virtual std::int64_t items(Rank rank, int channel, int lane) const = 0;
  virtual Item item(Rank rank, int channel, int lane, std::int64_t index) const = 0;
  // The shape of a lane without its slices, by which connections are found in O(peers): its items
  // come in steps of slices_per_step slices, a slice in items_per_slice items. In a step, the items
  // of each slice have the same peers and operations as those of the first one, and where these
  // transfer nothing the others don't either. One slice a step is always right, only slow.
  virtual std::int64_t slices_per_step(int /*channel*/) const { return 1; }
  virtual std::int64_t items_per_slice(Rank /*rank*/, int /*channel*/, int /*lane*/) const {
    return 1;
  }
  // Whether no slice of a step is larger than the one before, and all but the last wait, where they
  // do, for items that lie as many slices apart as they.
  virtual bool steps_are_even() const { return false; }
  // Elements of memory behind the rank's output that its items work with.
  virtual std::int64_t scratch(Rank /*rank*/) const { return 0; }
  // Whether some item waits for one of another channel.
  virtual bool crosses_channels() const { return false; }
};

}  // namespace gradhaul

#pragma once

// One connection of a loopback fabric: what is staged, on its way and delivered, the receive slots,
// and what follows a failure. It is strict with its user: a write into a slot that was not
// returned, or the return of a slot that holds nothing, is a programmer error.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "backends/loopback/delivery_order.h"
#include "core/completion.h"
#include "core/connection.h"
#include "core/transport.h"

namespace gradhaul {

// When a write's bytes are read. As late as the contract allows, an early change of the source
// shows at the peer; at the post, it does not.
enum class CopyMoment : std::uint8_t {
  kAtDelivery,  // by the first of the write's two completions
  kAtPost,
};

struct LoopbackSettings {
  TransportLimits limits;
  CopyMoment copy = CopyMoment::kAtDelivery;
  // Overwrite slots as soon as the receiver returns them, so that a late read shows.
  bool poison_returned_slots = false;
  // Assert at kWriteDone that the source still is as it was posted.
  bool check_sources = false;
};

// A large number in every datatype, so that it shows in sums and maxima.
inline constexpr std::byte kPoison{0x7b};

class LoopbackConnection {
 public:
  struct End {
    Rank rank = 0;
    ConnectionId id = 0;
  };
  struct Wiring {
    End sender;
    End receiver;
    std::span<std::byte> slots;  // of the receiver, `slot_count` of them
    int slot_count = 1;
  };
  // The agenda outlives the connection.
  LoopbackConnection(const Wiring& wiring, const LoopbackSettings& settings,
                     DeliveryAgenda& agenda);

  // Stage.
  void post_data(std::span<const std::byte> source, std::int32_t slot);
  void post_credit(std::int32_t slots_returned);
  // What was staged at the sending end (data), or at the receiving end (credits), goes on its way.
  void flush_data();
  void flush_credits();

  // The oldest completion of this kind, whose time has come.
  Completion deliver(CompletionKind kind);

  // Data write `ordinal`, counted from 0, fails, and with it all that follows.
  void fail_write(std::int64_t ordinal) { failing_write_ = ordinal; }

 private:
  struct DataWrite {
    std::span<const std::byte> source;
    std::int32_t slot = 0;
    std::optional<std::vector<std::byte>> staged;    // read before it arrived
    std::optional<std::vector<std::byte>> original;  // for check_sources
  };
  // A completion is delivered to an end; after its first failure only failures are.
  struct EndState {
    bool failed = false;
  };

  DataWrite& write(std::int64_t ordinal);
  bool fails(std::int64_t ordinal) const { return failing_write_ && ordinal >= *failing_write_; }
  void forget_delivered_writes();
  std::span<std::byte> slot_bytes(std::int32_t slot) const;
  Completion deliver_write_done();
  Completion deliver_write_arrived();
  Completion deliver_credit_done();
  Completion deliver_credit_arrived();
  CompletionStatus status_at(EndState& end, bool this_one_fails);
  void check_source(const DataWrite& write) const;

  Wiring wiring_;
  LoopbackSettings settings_;
  DeliveryAgenda& agenda_;
  std::int32_t done_queue_;
  std::int32_t arrived_queue_;
  std::int32_t credit_done_queue_;
  std::int32_t credit_arrived_queue_;
  EndState sender_;
  EndState receiver_;
  std::optional<std::int64_t> failing_write_;

  // Data writes, by ordinal: forgotten <= done, arrived <= flushed <= posted.
  std::deque<DataWrite> writes_;  // from forgotten_ on
  std::int64_t forgotten_ = 0;
  std::int64_t posted_ = 0;
  std::int64_t flushed_ = 0;
  std::int64_t done_ = 0;
  std::int64_t arrived_ = 0;

  std::vector<bool> occupied_;          // slots, as the sender has to see them
  std::deque<std::int32_t> to_return_;  // slots that arrived, in order
  std::deque<std::int32_t> returning_;  // slots whose return is staged or on its way
  std::deque<std::int32_t> credits_;    // slots_returned of credit writes not yet arrived
  std::int64_t credits_posted_ = 0;
  std::int64_t credits_flushed_ = 0;
  std::int64_t credits_done_ = 0;
};

}  // namespace gradhaul

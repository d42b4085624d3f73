#pragma once

// Traffic over a world of connections that holds its transport to the contract of core/transport.h,
// and tells each breach as a line that begins with the number of the point. It is itself a correct
// user: it writes only into free slots and only from sources that are its own, and returns slots
// when it has read them.
//
// What goes over a connection is numbered. The n-th write has a length and bytes of its own, so
// that order, loss, doubling and stale bytes all show.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/conformance/traffic_plan.h"
#include "tests/conformance/transport_harness.h"

namespace gradhaul::conformance {

class ContractTraffic {
 public:
  ContractTraffic(const TransportHarness& harness, const TrafficPlan& plan, std::uint64_t seed)
      : plan_(plan), shape_(shape_of(plan)), world_(harness.make_world(shape_, seed)) {
    for (const ConnectionKey& key : plan.connections) connections_.emplace_back().key = key;
    for (Rank rank = 0; rank < shape_.ranks(); ++rank) {
      sinks_.push_back(std::make_unique<Sink>(*this, rank));
      world_->connect(rank, *sinks_.back());
      const auto& ends = shape_.connections[static_cast<std::size_t>(rank)];
      for (std::size_t id = 0; id < ends.size(); ++id) place(ends[id], rank, id);
    }
    most_in_flight_ = world_->transport(0).limits().max_writes_in_flight;
    carries_bytes_ = !world_->memory(0, Region::kInput).empty();
  }

  // Whether the plan's failure can be had of this transport.
  bool can_fail() { return world_->fail_write(plan_.connections.front(), plan_.failing_write); }

  // Runs to the end; the breaches of the contract, none if all is well.
  std::vector<std::string> run() {
    post_all();
    while (breaches_.size() < kMostBreaches && world_->step()) {
      if (!plan_.posts_from_deliveries) post_all();
    }
    check_all_done();
    return breaches_;
  }

 private:
  static constexpr std::size_t kMostBreaches = 200;
  static constexpr std::byte kStale{0xee};

  // Counters of an end, and whether it has seen a failure.
  struct Connection {
    ConnectionKey key;
    ConnectionId sender_id = 0;
    ConnectionId receiver_id = 0;
    Bytes slots_offset;
    std::int64_t posted = 0;
    std::int64_t done = 0;
    std::int64_t arrived = 0;
    std::int64_t read = 0;
    std::int64_t returned = 0;                // slots, as the receiver posted them
    std::int64_t credits = 0;                 // slots, as they came to the sender
    std::vector<std::int32_t> credit_writes;  // slots returned by each
    std::int64_t credits_done = 0;
    std::int64_t credits_arrived = 0;
    bool sender_failed = false;
    bool receiver_failed = false;
  };

  class Sink final : public CompletionSink {
   public:
    Sink(ContractTraffic& traffic, Rank rank) : traffic_(traffic), rank_(rank) {}
    void on_completion(const Completion& completion) override {
      traffic_.on_completion(rank_, completion);
    }

   private:
    ContractTraffic& traffic_;
    Rank rank_;
  };

  void place(const ConnectionEnd& end, Rank rank, std::size_t id) {
    for (Connection& connection : connections_) {
      if (connection.key != end.key) continue;
      if (end.sends && rank == end.key.source) {
        connection.sender_id = static_cast<ConnectionId>(id);
      } else {
        connection.receiver_id = static_cast<ConnectionId>(id);
        connection.slots_offset = end.slots_offset;
      }
    }
  }

  static std::int64_t credit_writes(const Connection& connection) {
    return static_cast<std::int64_t>(connection.credit_writes.size());
  }
  std::int64_t length(std::int64_t ordinal) const {
    return plan_.lengths[static_cast<std::size_t>(ordinal) % plan_.lengths.size()];
  }
  std::byte byte_of(const Connection& connection, std::int64_t ordinal, std::int64_t at) const {
    const auto number = static_cast<std::int64_t>(&connection - connections_.data());
    return static_cast<std::byte>((number * 131 + ordinal * 29 + at * 7 + (at >> 8) + 1) & 0xff);
  }
  BufferRef source_of(const Connection& connection, std::int64_t ordinal) const {
    return {Region::kInput, buffer(connection.sender_id, ordinal)};
  }
  BufferRef copy_of(const Connection& connection, std::int64_t ordinal) const {
    return {Region::kOutput, buffer(connection.receiver_id, ordinal)};
  }
  BufferRef slot_of(const Connection& connection, std::int64_t ordinal) const {
    return {Region::kSlots, connection.slots_offset + shape_.slot_size * (ordinal % plan_.slots)};
  }
  Bytes buffer(ConnectionId id, std::int64_t ordinal) const {
    return shape_.slot_size * (std::int64_t{id} * plan_.slots + ordinal % plan_.slots);
  }
  std::span<std::byte> bytes(Rank rank, BufferRef where, std::int64_t count) {
    return world_->memory(rank, where.region)
        .subspan(static_cast<std::size_t>(where.offset.count), static_cast<std::size_t>(count));
  }

  void breach(int point, const Connection& connection, const std::string& what) {
    const ConnectionKey& key = connection.key;
    breaches_.push_back(std::to_string(point) + ": " + what + " on " + std::to_string(key.source) +
                        " -> " + std::to_string(key.destination) + " channel " +
                        std::to_string(key.channel) + " stream " + std::to_string(key.stream));
  }

  // Posting: each call into the world is marked, so that a completion from inside it shows.

  template <typename Call>
  void call_world(const Call& call) {
    ++inside_calls_;
    call();
    --inside_calls_;
  }

  // Nothing more after a breach: what the counters say is then no longer so.
  void post_all() {
    if (!breaches_.empty()) return;
    for (Connection& connection : connections_) {
      post_data(connection);
      post_credits(connection);
    }
    flush();
  }

  void post_data(Connection& connection) {
    while (connection.posted < plan_.writes && !connection.sender_failed &&
           connection.posted < connection.credits + plan_.slots &&
           connection.posted - connection.done < std::min(plan_.slots, most_in_flight_)) {
      const std::int64_t ordinal = connection.posted++;
      const BufferRef source = source_of(connection, ordinal);
      if (carries_bytes_) {
        const std::span<std::byte> target = bytes(connection.key.source, source, length(ordinal));
        for (std::size_t i = 0; i < target.size(); ++i) {
          target[i] = byte_of(connection, ordinal, static_cast<std::int64_t>(i));
        }
      }
      post(connection.key.source, {.connection = connection.sender_id,
                                   .kind = WriteKind::kData,
                                   .source = source,
                                   .length = {length(ordinal)},
                                   .slot = static_cast<std::int32_t>(ordinal % plan_.slots)});
    }
  }

  void post_credits(Connection& connection) {
    // 1, 2, … slots_per_credit slots and over again, so that each credit differs from the next.
    const std::int64_t turn = credit_writes(connection) % plan_.slots_per_credit;
    const std::int64_t due = connection.read - connection.returned;
    const std::int64_t in_flight = credit_writes(connection) - connection.credits_done;
    if (connection.receiver_failed || due == 0 || in_flight >= most_in_flight_) return;
    std::int64_t returned = std::min<std::int64_t>(turn + 1, plan_.slots);
    if (connection.read == plan_.writes) returned = std::min(returned, due);
    if (due < returned) return;
    connection.returned += returned;
    connection.credit_writes.push_back(static_cast<std::int32_t>(returned));
    post(connection.key.destination, {.connection = connection.receiver_id,
                                      .kind = WriteKind::kCredit,
                                      .source = {},
                                      .length = {},
                                      .slots_returned = static_cast<std::int32_t>(returned)});
  }

  void post(Rank rank, const WriteRequest& request) {
    call_world([&] { world_->transport(rank).post_write(request); });
    if (std::ranges::find(staged_, rank) == staged_.end()) staged_.push_back(rank);
    if (++staged_writes_ == plan_.writes_per_flush) flush();
  }

  void flush() {
    staged_writes_ = 0;
    for (const Rank rank : std::exchange(staged_, {})) {
      call_world([&] { world_->transport(rank).flush(); });
    }
  }

  // Deliveries.

  void on_completion(Rank rank, const Completion& completion) {
    if (std::this_thread::get_id() != thread_) breaches_.emplace_back("8: another thread delivers");
    if (completion.kind == CompletionKind::kReduceDone) {
      on_reduce_done(rank, completion);
    } else if (Connection* connection = find(rank, completion)) {
      if (inside_calls_ > 0) breach(1, *connection, "a completion from inside a post or flush");
      on_connection(*connection, completion);
    } else {
      breaches_.push_back("2: a completion for an end that rank " + std::to_string(rank) +
                          " does not have");
    }
    if (plan_.posts_from_deliveries && inside_calls_ == 0) post_all();
  }

  Connection* find(Rank rank, const Completion& completion) {
    const bool sender = completion.kind == CompletionKind::kWriteDone ||
                        completion.kind == CompletionKind::kCreditArrived;
    for (Connection& connection : connections_) {
      const Rank at = sender ? connection.key.source : connection.key.destination;
      const ConnectionId id = sender ? connection.sender_id : connection.receiver_id;
      if (at == rank && id == completion.id) return &connection;
    }
    return nullptr;
  }

  void on_connection(Connection& connection, const Completion& completion) {
    switch (completion.kind) {
      case CompletionKind::kWriteDone:
        return on_write_done(connection, completion);
      case CompletionKind::kWriteArrived:
        return on_write_arrived(connection, completion);
      case CompletionKind::kCreditDone:
        check_status(connection, connection.receiver_failed, completion);
        if (connection.credits_done++ >= credit_writes(connection)) {
          breach(2, connection, "kCreditDone of a credit that was not posted");
        }
        return;
      case CompletionKind::kCreditArrived:
        return on_credit_arrived(connection, completion);
      case CompletionKind::kReduceDone:
        return;
    }
  }

  // Whether it is a success, and may be looked at.
  bool check_status(Connection& connection, bool& failed, const Completion& completion) {
    const bool ok = completion.status == CompletionStatus::kOk;
    if (ok && failed) breach(7, connection, "success after a failure");
    const bool expected = plan_.failing_write >= 0 && &connection == connections_.data();
    if (!ok && !expected) breach(7, connection, "a failure that nobody asked for");
    failed = failed || !ok;
    return ok;
  }

  void on_write_done(Connection& connection, const Completion& completion) {
    const std::int64_t ordinal = connection.done++;
    if (ordinal >= connection.posted) {
      return breach(2, connection, "kWriteDone of a write that was not posted");
    }
    check_status(connection, connection.sender_failed, completion);
    if (completion.amount != length(ordinal)) breach(3, connection, "kWriteDone out of order");
    if (carries_bytes_) {
      const BufferRef source = source_of(connection, ordinal);
      std::ranges::fill(bytes(connection.key.source, source, length(ordinal)), kStale);
    }
  }

  void on_write_arrived(Connection& connection, const Completion& completion) {
    const std::int64_t ordinal = connection.arrived++;
    if (ordinal >= connection.posted) {
      return breach(2, connection, "kWriteArrived of a write that was not posted");
    }
    if (!check_status(connection, connection.receiver_failed, completion)) return;
    if (completion.amount != length(ordinal)) breach(3, connection, "kWriteArrived out of order");
    if (plan_.through_reducer) {
      post_copy(connection, ordinal);
    } else {
      read(connection, slot_of(connection, ordinal), ordinal);
    }
  }

  void on_credit_arrived(Connection& connection, const Completion& completion) {
    const std::int64_t ordinal = connection.credits_arrived++;
    if (ordinal >= credit_writes(connection)) {
      return breach(2, connection, "kCreditArrived of a credit that was not posted");
    }
    check_status(connection, connection.sender_failed, completion);
    const std::int32_t returned = connection.credit_writes[static_cast<std::size_t>(ordinal)];
    if (completion.amount != returned) breach(3, connection, "kCreditArrived out of order");
    connection.credits += returned;
  }

  // The stream of a copy is its connection's id, so that there is one for each.
  void post_copy(const Connection& connection, std::int64_t ordinal) {
    const ReduceRequest request{.stream = connection.receiver_id,
                                .kind = ReduceKind::kCopy,
                                .target = copy_of(connection, ordinal),
                                .left = slot_of(connection, ordinal),
                                .right = {},
                                .count = length(ordinal) / size_of(DataType::kFp16).count,
                                .datatype = DataType::kFp16};
    call_world([&] { world_->reducer(connection.key.destination).post_reduce(request); });
  }

  void on_reduce_done(Rank rank, const Completion& completion) {
    for (Connection& connection : connections_) {
      if (connection.key.destination != rank || connection.receiver_id != completion.id) continue;
      if (inside_calls_ > 0) breach(1, connection, "kReduceDone from inside a post");
      if (connection.read >= connection.arrived) {
        return breach(2, connection, "kReduceDone of a request that was not posted");
      }
      return read(connection, copy_of(connection, connection.read), connection.read);
    }
    breaches_.emplace_back("2: kReduceDone of a stream that was not used");
  }

  // What arrived is looked at, and made unreadable, since its slot now goes back.
  void read(Connection& connection, BufferRef where, std::int64_t ordinal) {
    ++connection.read;
    if (!carries_bytes_) return;
    const std::span<std::byte> found = bytes(connection.key.destination, where, length(ordinal));
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i] == byte_of(connection, ordinal, static_cast<std::int64_t>(i))) continue;
      const bool stale = found[i] == kStale;
      breach(stale ? 5 : 4, connection,
             stale ? "bytes written after kWriteDone were sent" : "kWriteArrived before its bytes");
      break;
    }
    const BufferRef slot = slot_of(connection, ordinal);
    std::ranges::fill(bytes(connection.key.destination, slot, length(ordinal)), std::byte{0xdd});
  }

  void check_all_done() {
    for (const Connection& connection : connections_) {
      const bool failing = plan_.failing_write >= 0 && &connection == connections_.data();
      if (connection.done != connection.posted) breach(2, connection, "kWriteDone is missing");
      if (failing && !connection.sender_failed) breach(7, connection, "the failure is not told");
      if (failing) continue;
      const std::int64_t posted_credits = credit_writes(connection);
      if (connection.arrived < connection.posted) breach(2, connection, "kWriteArrived is missing");
      if (connection.credits_done < posted_credits) breach(2, connection, "kCreditDone is missing");
      if (connection.credits_arrived < posted_credits) {
        breach(2, connection, "kCreditArrived is missing");
      }
      if (breaches_.empty() && connection.posted < plan_.writes) {
        breach(2, connection, "the traffic came to a halt");
      }
    }
  }

  TrafficPlan plan_;
  WorldShape shape_;
  std::unique_ptr<ConformanceWorld> world_;
  std::vector<Connection> connections_;
  std::vector<std::unique_ptr<Sink>> sinks_;
  std::int32_t most_in_flight_ = 0;
  bool carries_bytes_ = false;
  std::thread::id thread_ = std::this_thread::get_id();
  int inside_calls_ = 0;
  int staged_writes_ = 0;
  std::vector<Rank> staged_;
  std::vector<std::string> breaches_;
};

}  // namespace gradhaul::conformance

#pragma once

// One end of a connection: its queue pairs, what is posted on them, and what has come.
//
// Data goes from source to destination as RDMA writes with immediate data into the receive slot
// that the request names; or as plain ones, each with an empty write with immediate data behind it
// on the same queue pair. What an immediate says: backends/verbs/immediate_format.h. Credits go the
// other way on the first queue pair, as immediate data without bytes. Each immediate takes a posted
// receive: as many as slots are posted before the peer may begin, and each is posted again before
// the credit that lets the peer use its slot once more. So none is ever missing.

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "backends/cpu/host_memory.h"
#include "backends/verbs/immediate_format.h"
#include "backends/verbs/rdma_rail.h"
#include "backends/verbs/send_queue.h"
#include "backends/verbs/write_windows.h"
#include "core/bounded_queue.h"
#include "core/completion.h"
#include "core/connection.h"
#include "core/transport.h"

namespace gradhaul {

// The peer's receive slots.
struct RemoteSlots {
  std::uint64_t address = 0;
  std::uint32_t key = 0;
};

// A piece of this rank's memory as its NIC knows it.
struct LocalBytes {
  std::uint64_t address = 0;
  std::uint32_t key = 0;
};

class VerbsConnection {
 public:
  struct Shape {
    ConnectionId id = 0;
    ConnectionEnd end;
    int slots = 1;
    Bytes slot_size;
    bool split_writes = false;
    bool immediate_apart = false;
    int max_in_flight = 1;
    int signal_interval = 16;
    std::uint32_t first_place = 0;  // of its queue pairs, in wr_id
  };
  // A queue pair of this end, in INIT, with what was granted of inline data.
  struct OpenedQueuePair {
    QueuePair qp;
    std::uint32_t inline_bytes = 0;
    std::uint32_t packet_number = 0;
  };
  VerbsConnection(VerbsLibrary& verbs, const Shape& shape, std::vector<OpenedQueuePair> pairs);

  const ConnectionKey& key() const { return shape_.end.key; }
  bool sends() const { return shape_.end.sends; }
  Rank peer() const { return sends() ? key().destination : key().source; }
  std::size_t queue_pairs() const { return pairs_.size(); }
  ibv_qp* queue_pair(std::size_t index) const { return pairs_[index].opened.qp.get(); }
  std::uint32_t packet_number(std::size_t index) const {
    return pairs_[index].opened.packet_number;
  }
  const ImmediateFormat& format() const { return format_; }
  const SendQueue& send_queue(std::size_t index) const { return pairs_[index].sends; }

  // How many work requests each of its queue pairs has to hold.
  static int send_capacity(const Shape& shape, int index, int queue_pairs);
  static int receive_capacity(const Shape& shape, int index);

  // Posts the receives, in INIT. 0 or an errno.
  int post_receives();
  void connect(const RemoteSlots& slots) { remote_ = slots; }

  // Stage; asserted as core/transport.h has it. On a failed connection they come back flushed.
  void post_data(const WriteRequest& request, const LocalBytes& source);
  void post_credit(std::int32_t slots_returned);
  // Rings what is staged. 0 or an errno.
  int ring();

  // A work completion without error, of the queue pair at `index`.
  void on_sent(std::size_t index, std::uint32_t number);
  // false: the immediate is none that the peer may send now.
  bool on_received(std::size_t index, std::uint32_t immediate, std::int64_t bytes);
  int repost_receives();

  // From now on data that arrives is delivered only once it is released.
  void hold_arrivals() { released_ = 0; }
  // How many writes have arrived that are still held.
  std::int64_t held() const { return sends() ? 0 : arrivals_.arrived() - released_; }
  // Lets the next so many be delivered.
  void release(std::int64_t count) { released_ += count; }

  // From now on only failures are delivered.
  void fail() { failed_ = true; }
  bool failed() const { return failed_; }

  // Delivers what is due, in order. Whether there was anything.
  bool deliver(CompletionSink& sink);

  // Something that was posted is not done.
  bool waits_for_completion() const { return !data_.empty() || !credits_.empty(); }
  std::int64_t writes_done() const { return data_.done() + credits_.done(); }
  // "write 17 of channel 0 to rank 1 (1048576 bytes of its writes acknowledged)"
  std::string progress_text() const;

 private:
  struct Pair {
    OpenedQueuePair opened;
    SendQueue sends;
    int receives_due = 0;
  };
  void stage_part(std::size_t index, const RemoteWrite& part);
  bool deliver_failures(CompletionSink& sink);
  void tell(CompletionSink& sink, CompletionKind kind, std::int64_t amount);

  VerbsLibrary& verbs_;
  Shape shape_;
  std::vector<Pair> pairs_;
  RemoteSlots remote_;
  ImmediateFormat format_;
  PostedWrites data_;
  PostedWrites credits_;
  ArrivingWrites arrivals_;
  BoundedQueue<std::int32_t> credits_arrived_;
  std::int64_t slots_free_;  // at the sending end: the peer's, as far as credits say
  std::int64_t released_ = std::numeric_limits<std::int64_t>::max();  // data that may be delivered
  bool failed_ = false;
  bool told_ = false;  // that it failed
};

}  // namespace gradhaul

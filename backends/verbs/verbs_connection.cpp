#include "backends/verbs/verbs_connection.h"

#include <algorithm>
#include <utility>

#include "core/assert.h"
#include "core/write_parts.h"

namespace gradhaul {
namespace {

ImmediateFormat format_of(const VerbsConnection::Shape& shape, int queue_pairs) {
  if (!shape.immediate_apart) return {};
  return ImmediateFormat::apart(shape.slots, shape.split_writes ? queue_pairs : 1);
}

}  // namespace

int VerbsConnection::send_capacity(const Shape& shape, int index, int queue_pairs) {
  // Not bounded by the slots: a credit may be back before the write it answers is acknowledged.
  const int in_flight = shape.max_in_flight;
  if (!shape.end.sends) return index == 0 ? in_flight : 1;
  const int writes = shape.split_writes ? in_flight : (in_flight + queue_pairs - 1) / queue_pairs;
  return shape.immediate_apart ? 2 * writes : writes;
}

int VerbsConnection::receive_capacity(const Shape& shape, int index) {
  return shape.end.sends && index > 0 ? 1 : shape.slots;
}

VerbsConnection::VerbsConnection(VerbsLibrary& verbs, const Shape& shape,
                                 std::vector<OpenedQueuePair> pairs)
    : verbs_(verbs),
      shape_(shape),
      format_(format_of(shape, static_cast<int>(pairs.size()))),
      data_(shape.max_in_flight),
      credits_(shape.max_in_flight),
      arrivals_(shape.slots, format_.number_mask()),
      credits_arrived_(static_cast<std::size_t>(shape.slots)),
      slots_free_(shape.slots) {
  const auto count = static_cast<int>(pairs.size());
  pairs_.reserve(pairs.size());
  for (int index = 0; index < count; ++index) {
    OpenedQueuePair& opened = pairs[static_cast<std::size_t>(index)];
    ibv_qp* qp = opened.qp.get();
    const std::uint64_t place = shape.first_place + static_cast<std::uint32_t>(index);
    const SendQueueSettings settings{.capacity = send_capacity(shape, index, count),
                                     .signal_interval = shape.signal_interval,
                                     .inline_bytes = opened.inline_bytes,
                                     .id_base = place << 32};
    pairs_.push_back({std::move(opened), SendQueue(verbs, qp, settings)});
    pairs_.back().receives_due = receive_capacity(shape, index);
  }
}

int VerbsConnection::post_receives() { return repost_receives(); }

int VerbsConnection::repost_receives() {
  for (std::size_t index = 0; index < pairs_.size(); ++index) {
    const std::uint64_t place = shape_.first_place + index;
    for (int due = std::exchange(pairs_[index].receives_due, 0); due > 0; --due) {
      ibv_recv_wr request{};
      request.wr_id = 1ULL << 63 | place << 32;
      ibv_recv_wr* bad = nullptr;
      if (const int error = verbs_.post_recv(queue_pair(index), &request, &bad); error != 0) {
        return error;
      }
    }
  }
  return 0;
}

void VerbsConnection::post_data(const WriteRequest& request, const LocalBytes& source) {
  GRADHAUL_ASSERT(sends(), "data leaves the sending end");
  GRADHAUL_ASSERT(request.length.count >= 1 && request.length <= shape_.slot_size,
                  "a data write has bytes, and they fit the slot");
  GRADHAUL_ASSERT(request.slot >= 0 && request.slot < shape_.slots, "the peer has no such slot");
  GRADHAUL_ASSERT(!data_.full(), "no more data writes are in flight than the limit");
  GRADHAUL_ASSERT(slots_free_ > 0 || failed_, "a slot is written only after it was returned");
  --slots_free_;
  const std::int64_t length = request.length.count;
  const auto pairs = static_cast<std::int64_t>(pairs_.size());
  const std::int64_t piece =
      shape_.split_writes ? part_length(request.length, static_cast<int>(pairs)).count : length;
  const auto parts = static_cast<std::uint32_t>((length + piece - 1) / piece);
  const int requests = static_cast<int>(parts) * (shape_.immediate_apart ? 2 : 1);
  const std::int64_t write = data_.post(length, requests);
  if (failed_) return;
  const std::uint64_t slot =
      remote_.address + static_cast<std::uint64_t>(shape_.slot_size.count * request.slot);
  std::int64_t offset = 0;
  for (std::uint32_t part = 0; part < parts; ++part, offset += piece) {
    const auto at = static_cast<std::uint64_t>(offset);
    const std::int64_t index = shape_.split_writes ? part : write % pairs;
    const auto bytes = static_cast<std::uint32_t>(std::min(piece, length - offset));
    const std::uint32_t immediate = format_.data({.number = static_cast<std::uint32_t>(write),
                                                  .parts = parts,
                                                  .length = format_.tells_length() ? bytes : 0});
    SendQueue& sends = pairs_[static_cast<std::size_t>(index)].sends;
    sends.stage({.address = source.address + at,
                 .length = bytes,
                 .key = source.key,
                 .remote_address = slot + at,
                 .remote_key = remote_.key,
                 .immediate = immediate,
                 .plain = shape_.immediate_apart,
                 .write = write});
    if (shape_.immediate_apart) sends.stage({.immediate = immediate, .write = write});
  }
}

void VerbsConnection::post_credit(std::int32_t slots_returned) {
  GRADHAUL_ASSERT(!sends(), "credits leave the receiving end");
  GRADHAUL_ASSERT(slots_returned >= 1 && slots_returned <= shape_.slots,
                  "a credit write returns slots");
  GRADHAUL_ASSERT(!credits_.full(), "no more credit writes are in flight than the limit");
  const std::int64_t write = credits_.post(0, 1);
  if (failed_) return;
  pairs_.front().sends.stage(
      {.immediate = ImmediateFormat::credit(static_cast<std::uint32_t>(slots_returned)),
       .write = write});
}

int VerbsConnection::ring() {
  for (Pair& pair : pairs_) {
    if (failed_) return 0;
    if (const int error = pair.sends.ring(); error != 0) return error;
  }
  return 0;
}

void VerbsConnection::on_sent(std::size_t index, std::uint32_t number) {
  SendQueue& queue = pairs_[index].sends;
  PostedWrites& writes = sends() ? data_ : credits_;
  for (int left = queue.retired_by(number); left > 0; --left) writes.part_done(queue.retire());
}

bool VerbsConnection::on_received(std::size_t index, std::uint32_t immediate, std::int64_t bytes) {
  ++pairs_[index].receives_due;
  const bool is_credit = ImmediateFormat::is_credit(immediate);
  if (is_credit != sends()) return false;
  if (!is_credit) {
    const ImmediateFormat::Data data = format_.data_of(immediate);
    return arrivals_.part_arrived(data.number, static_cast<int>(data.parts),
                                  format_.tells_length() ? data.length : bytes);
  }
  const std::int64_t returned = ImmediateFormat::slots_of(immediate);
  if (returned < 1 || slots_free_ + returned > shape_.slots) return false;
  slots_free_ += returned;
  credits_arrived_.push(static_cast<std::int32_t>(returned));
  return true;
}

bool VerbsConnection::deliver(CompletionSink& sink) {
  if (failed_) return deliver_failures(sink);
  bool any = false;
  const ConnectionId id = shape_.id;
  const auto deliver_one = [&](CompletionKind kind, std::int64_t amount) {
    any = true;
    sink.on_completion({kind, CompletionStatus::kOk, id, amount});
  };
  while (credits_arrived_.size() > 0) {
    deliver_one(CompletionKind::kCreditArrived, credits_arrived_.pop());
  }
  while (arrivals_.ready() && arrivals_.delivered() < released_) {
    deliver_one(CompletionKind::kWriteArrived, arrivals_.pop());
  }
  while (data_.ready()) deliver_one(CompletionKind::kWriteDone, data_.pop());
  while (credits_.ready()) deliver_one(CompletionKind::kCreditDone, credits_.pop());
  return any;
}

void VerbsConnection::tell(CompletionSink& sink, CompletionKind kind, std::int64_t amount) {
  const auto status =
      std::exchange(told_, true) ? CompletionStatus::kFlushed : CompletionStatus::kFailed;
  sink.on_completion({kind, status, shape_.id, amount});
}

// All that was posted comes back; where nothing was, one completion tells that it failed.
bool VerbsConnection::deliver_failures(CompletionSink& sink) {
  const bool any = !told_ || waits_for_completion();
  while (!data_.empty()) tell(sink, CompletionKind::kWriteDone, data_.pop());
  while (!credits_.empty()) tell(sink, CompletionKind::kCreditDone, credits_.pop());
  if (!told_) {
    tell(sink, sends() ? CompletionKind::kCreditArrived : CompletionKind::kWriteArrived, 0);
  }
  return any;
}

std::string VerbsConnection::progress_text() const {
  const std::string channel = "channel " + std::to_string(key().channel);
  if (sends()) {
    return channel + " to rank " + std::to_string(peer()) + " (" + std::to_string(data_.done()) +
           " of " + std::to_string(data_.posted()) + " writes and " +
           std::to_string(data_.bytes_done()) + " bytes acknowledged, " +
           std::to_string(std::max<std::int64_t>(slots_free_, 0)) + " of " +
           std::to_string(shape_.slots) + " slots free)";
  }
  return channel + " from rank " + std::to_string(peer()) + " (" +
         std::to_string(arrivals_.delivered()) + " writes and " +
         std::to_string(arrivals_.bytes_delivered()) + " bytes arrived, " +
         std::to_string(credits_.done()) + " of " + std::to_string(credits_.posted()) +
         " credits acknowledged)";
}

}  // namespace gradhaul

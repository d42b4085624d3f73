#include "backends/tcp/tcp_connection.h"

#include <algorithm>
#include <cstring>

#include "core/assert.h"

namespace gradhaul {

TcpConnection::TcpConnection(const ConnectionEnd& end, ConnectionId id,
                             std::vector<int> descriptors, const Room& room)
    : end_(end), id_(id), room_(room), streams_(descriptors.size()) {
  GRADHAUL_ASSERT(!descriptors.empty(), "a connection has at least one socket");
  for (std::size_t i = 0; i < descriptors.size(); ++i) streams_[i].descriptor = descriptors[i];
}

void TcpConnection::post_data(std::int32_t slot, std::span<const std::byte> source) {
  GRADHAUL_ASSERT(end_.sends, "data leaves the sending end");
  GRADHAUL_ASSERT(slot >= 0 && slot < room_.slot_count, "the peer has no such slot");
  const std::int64_t write = posted_++;
  lengths_.push_back(static_cast<std::int64_t>(source.size()));
  if (!failed_) stream_of(write).sender.add(static_cast<std::uint32_t>(slot), source);
}

void TcpConnection::post_credit(std::int32_t slots_returned) {
  GRADHAUL_ASSERT(!end_.sends, "credits leave the receiving end");
  ++posted_;
  if (!failed_) streams_.front().sender.add(static_cast<std::uint32_t>(slots_returned), {});
}

StreamState TcpConnection::push(std::size_t socket) {
  return streams_[socket].sender.push(streams_[socket].descriptor);
}

StreamState TcpConnection::pull(std::size_t socket) {
  pulling_ = socket;
  return streams_[socket].receiver.pull(streams_[socket].descriptor, *this);
}

std::string TcpConnection::complaint(std::size_t socket) const {
  const Stream& stream = streams_[socket];
  if (!stream.receiver.complaint().empty()) return stream.receiver.complaint();
  const int error = stream.receiver.error() != 0 ? stream.receiver.error() : stream.sender.error();
  return error == 0 ? "it was closed" : std::strerror(error);
}

bool TcpConnection::next_is_sent() const {
  if (done_ == posted_) return false;
  if (failed_) return true;
  const auto sockets = static_cast<std::int64_t>(streams_.size());
  const std::int64_t number = end_.sends ? done_ / sockets : done_;
  const Stream& stream = end_.sends ? stream_of(done_) : streams_.front();
  return stream.sender.sent() > number;
}

bool TcpConnection::has_completions() const {
  if (next_is_sent()) return true;
  if (failed_) return false;
  return end_.sends ? !credits_.empty() : !stream_of(arrived_).arrived.empty();
}

void TcpConnection::deliver(CompletionSink& sink) {
  while (next_is_sent()) {
    Completion completion{.kind = CompletionKind::kCreditDone, .id = id_};
    if (failed_) completion.status = CompletionStatus::kFailed;
    if (end_.sends) {
      completion.kind = CompletionKind::kWriteDone;
      completion.amount = lengths_.front();
      lengths_.pop_front();
    }
    ++done_;
    sink.on_completion(completion);
  }
  while (!failed_ && end_.sends && !credits_.empty()) {
    const std::int64_t returned = credits_.front();
    credits_.pop_front();
    sink.on_completion({.kind = CompletionKind::kCreditArrived, .id = id_, .amount = returned});
  }
  while (!failed_ && !end_.sends && !stream_of(arrived_).arrived.empty()) {
    std::deque<std::int64_t>& arrived = stream_of(arrived_).arrived;
    const std::int64_t length = arrived.front();
    arrived.pop_front();
    ++arrived_;
    sink.on_completion({.kind = CompletionKind::kWriteArrived, .id = id_, .amount = length});
  }
}

// A credit has no bytes, and returns slots that there are; data lies within one of them.
std::optional<std::span<std::byte>> TcpConnection::room_for(const FrameHead& head) {
  const auto slots = static_cast<std::uint32_t>(room_.slot_count);
  if (end_.sends) {
    if (head.length != 0 || head.slot < 1 || head.slot > slots) return std::nullopt;
    return std::span<std::byte>();
  }
  const bool fits =
      head.slot < slots && head.length >= 1 && std::int64_t{head.length} <= room_.slot_size.count;
  if (!fits) return std::nullopt;
  return room_.slots.subspan(static_cast<std::size_t>((room_.slot_size * head.slot).count),
                             head.length);
}

void TcpConnection::on_frame(const FrameHead& head) {
  if (end_.sends) {
    credits_.push_back(head.slot);
  } else {
    streams_[pulling_].arrived.push_back(head.length);
  }
}

bool TcpConnection::has_unsent() const {
  return !failed_ && std::any_of(streams_.begin(), streams_.end(),
                                 [](const Stream& stream) { return !stream.sender.idle(); });
}

std::int64_t TcpConnection::bytes_sent() const {
  std::int64_t bytes = 0;
  for (const Stream& stream : streams_) bytes += stream.sender.bytes();
  return bytes;
}

std::int64_t TcpConnection::bytes_received() const {
  std::int64_t bytes = 0;
  for (const Stream& stream : streams_) bytes += stream.receiver.bytes();
  return bytes;
}

}  // namespace gradhaul

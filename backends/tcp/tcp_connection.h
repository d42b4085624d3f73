#pragma once

// One end of a connection over some sockets. Write n goes over socket n mod sockets, and completes
// in its turn, whichever comes first. Credits come back over the first.

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "backends/tcp/frame_stream.h"
#include "core/completion.h"
#include "core/connection.h"

namespace gradhaul {

class TcpConnection final : public FrameSink {
 public:
  struct Room {
    std::span<std::byte> slots;  // at a receiving end
    int slot_count = 1;
    Bytes slot_size;
  };
  TcpConnection(const ConnectionEnd& end, ConnectionId id, std::vector<int> descriptors,
                const Room& room);
  TcpConnection(TcpConnection&&) = default;

  const ConnectionEnd& end() const { return end_; }
  Rank peer() const { return end_.sends ? end_.key.destination : end_.key.source; }
  std::size_t sockets() const { return streams_.size(); }
  int descriptor(std::size_t socket) const { return streams_[socket].descriptor; }
  std::int64_t in_flight() const { return posted_ - done_; }

  void post_data(std::int32_t slot, std::span<const std::byte> source);
  void post_credit(std::int32_t slots_returned);
  // Of one socket. kOver: fail() is due.
  StreamState push(std::size_t socket);
  StreamState pull(std::size_t socket);
  // Nothing goes or comes any more: what is under way completes with a status.
  void fail() { failed_ = true; }
  bool failed() const { return failed_; }
  // What is wrong with this socket, in words.
  std::string complaint(std::size_t socket) const;

  // Whether deliver() would deliver anything.
  bool has_completions() const;
  void deliver(CompletionSink& sink);

  // For tests: of all sockets together.
  bool has_unsent() const;
  std::int64_t bytes_sent() const;
  std::int64_t bytes_received() const;

  std::optional<std::span<std::byte>> room_for(const FrameHead& head) override;
  void on_frame(const FrameHead& head) override;

 private:
  struct Stream {
    int descriptor = -1;
    FrameSender sender;
    FrameReceiver receiver;
    std::deque<std::int64_t> arrived;  // lengths of writes not yet delivered
  };
  Stream& stream_of(std::int64_t write) {
    return streams_[static_cast<std::size_t>(write) % streams_.size()];
  }
  const Stream& stream_of(std::int64_t write) const {
    return streams_[static_cast<std::size_t>(write) % streams_.size()];
  }
  bool next_is_sent() const;

  ConnectionEnd end_;
  ConnectionId id_;
  Room room_;
  std::vector<Stream> streams_;
  std::size_t pulling_ = 0;  // the socket whose frames come in
  // What this end posts: data at a sending end, credits at a receiving one.
  std::int64_t posted_ = 0;
  std::int64_t done_ = 0;
  std::deque<std::int64_t> lengths_;  // of data posted and not done
  // What comes from the peer.
  std::int64_t arrived_ = 0;  // writes delivered
  std::deque<std::int64_t> credits_;
  bool failed_ = false;
};

}  // namespace gradhaul

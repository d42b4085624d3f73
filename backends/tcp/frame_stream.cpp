#include "backends/tcp/frame_stream.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace gradhaul {
namespace {

constexpr std::size_t kMostVectors = 32;

void put(std::byte* at, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) at[i] = static_cast<std::byte>(value >> (24 - 8 * i));
}

std::uint32_t get(const std::byte* at) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<std::uint32_t>(at[i]);
  return value;
}

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

std::array<std::byte, kFrameHead> encoded(const FrameHead& head) {
  std::array<std::byte, kFrameHead> bytes{};
  put(bytes.data(), kFrameMagic);
  put(bytes.data() + 4, head.number);
  put(bytes.data() + 8, head.slot);
  put(bytes.data() + 12, head.length);
  return bytes;
}

void FrameSender::add(std::uint32_t slot, std::span<const std::byte> bytes) {
  frames_.push_back({encoded({added_++, slot, static_cast<std::uint32_t>(bytes.size())}), bytes});
}

StreamState FrameSender::push(int descriptor) {
  while (!frames_.empty()) {
    std::array<iovec, kMostVectors> vectors;
    std::size_t used = 0;
    std::size_t skipped = progress_;
    std::size_t total = 0;
    const auto add = [&](std::span<const std::byte> bytes) {
      const std::size_t skip = std::min(skipped, bytes.size());
      skipped -= skip;
      if (skip == bytes.size()) return;
      vectors[used++] = {const_cast<std::byte*>(bytes.data()) + skip, bytes.size() - skip};
      total += bytes.size() - skip;
    };
    for (const Frame& frame : frames_) {
      if (used + 2 > kMostVectors) break;
      add(frame.head);
      add(frame.bytes);
    }
    msghdr message{};
    message.msg_iov = vectors.data();
    message.msg_iovlen = used;
    const ssize_t count = sendmsg(descriptor, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0) {
      if (would_block(errno)) return StreamState::kBlocked;
      error_ = errno;
      return StreamState::kOver;
    }
    bytes_ += count;
    take_off(static_cast<std::size_t>(count));
    if (static_cast<std::size_t>(count) < total) return StreamState::kBlocked;
  }
  return StreamState::kOpen;
}

void FrameSender::take_off(std::size_t count) {
  progress_ += count;
  while (!frames_.empty() && progress_ >= kFrameHead + frames_.front().bytes.size()) {
    progress_ -= kFrameHead + frames_.front().bytes.size();
    frames_.pop_front();
    ++sent_;
  }
}

StreamState FrameReceiver::pull(int descriptor, FrameSink& sink) {
  // What was staged has been consumed, or is a part of a head.
  const std::size_t kept = staged_end_ - staged_begin_;
  std::memmove(staged_.data(), staged_.data() + staged_begin_, kept);
  staged_begin_ = 0;
  staged_end_ = kept;
  std::array<iovec, 2> vectors;
  std::size_t used = 0;
  const std::size_t direct = room_.size();
  if (direct > 0) vectors[used++] = {room_.data(), direct};
  vectors[used++] = {staged_.data() + kept, staged_.size() - kept};
  const ssize_t count = readv(descriptor, vectors.data(), static_cast<int>(used));
  if (count <= 0) {
    if (count < 0 && would_block(errno)) return StreamState::kOpen;
    error_ = count < 0 ? errno : 0;
    return StreamState::kOver;
  }
  bytes_ += count;
  const std::size_t into_room = std::min(static_cast<std::size_t>(count), direct);
  room_ = room_.subspan(into_room);
  staged_end_ += static_cast<std::size_t>(count) - into_room;
  return consume(sink);
}

StreamState FrameReceiver::consume(FrameSink& sink) {
  while (true) {
    if (!in_frame_) {
      if (staged_end_ - staged_begin_ < kFrameHead) return StreamState::kOpen;
      if (!begin_frame(sink)) return StreamState::kOver;
    }
    const std::size_t piece = std::min(room_.size(), staged_end_ - staged_begin_);
    if (piece > 0) {
      std::memcpy(room_.data(), staged_.data() + staged_begin_, piece);
      room_ = room_.subspan(piece);
      staged_begin_ += piece;
    }
    if (!room_.empty()) return StreamState::kOpen;
    in_frame_ = false;
    sink.on_frame(head_);
  }
}

bool FrameReceiver::begin_frame(FrameSink& sink) {
  const std::byte* const head = staged_.data() + staged_begin_;
  staged_begin_ += kFrameHead;
  head_ = {get(head + 4), get(head + 8), get(head + 12)};
  if (get(head) != kFrameMagic || head_.number != expected_++) {
    complaint_ = "what it sent is no write, or not the next one";
    return false;
  }
  const auto room = sink.room_for(head_);
  if (!room) {
    complaint_ = "a write of " + std::to_string(head_.length) + " bytes to slot " +
                 std::to_string(head_.slot) + ", where there is no room for it";
    return false;
  }
  room_ = *room;
  in_frame_ = true;
  return true;
}

}  // namespace gradhaul

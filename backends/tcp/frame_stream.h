#pragma once

// One socket of a connection: frames out and frames in, of a head and what lies in memory. A data
// write is a frame with its bytes, which are read from the source and written to the slot without
// another copy; a credit write is a head alone.
//
// The head, big-endian: magic, number on this socket, slot (or slots returned), length (0: credit).

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gradhaul {

inline constexpr std::uint32_t kFrameMagic = 0x67667231;  // "gfr1"
inline constexpr std::size_t kFrameHead = 16;

struct FrameHead {
  std::uint32_t number = 0;
  std::uint32_t slot = 0;
  std::uint32_t length = 0;
};

std::array<std::byte, kFrameHead> encoded(const FrameHead& head);

enum class StreamState : std::uint8_t {
  kOpen,
  kBlocked,  // of a sender: the socket takes no more now
  kOver,     // closed, in error, or not understood
};

class FrameSender {
 public:
  // `bytes` stay as they are until the frame is counted in sent().
  void add(std::uint32_t slot, std::span<const std::byte> bytes);
  // As much as the socket takes.
  StreamState push(int descriptor);
  std::int64_t sent() const { return sent_; }  // frames
  bool idle() const { return frames_.empty(); }
  std::int64_t bytes() const { return bytes_; }
  int error() const { return error_; }  // of kOver

 private:
  struct Frame {
    std::array<std::byte, kFrameHead> head;
    std::span<const std::byte> bytes;
  };
  void take_off(std::size_t count);

  std::deque<Frame> frames_;
  std::size_t progress_ = 0;  // of the first, head included
  std::uint32_t added_ = 0;
  std::int64_t sent_ = 0;
  std::int64_t bytes_ = 0;
  int error_ = 0;
};

// Where the bytes of frames go, and who hears that they are there.
class FrameSink {
 public:
  // The room for a frame of this head, as large as its length; nothing refuses it.
  virtual std::optional<std::span<std::byte>> room_for(const FrameHead& head) = 0;
  virtual void on_frame(const FrameHead& head) = 0;

 protected:
  ~FrameSink() = default;
};

class FrameReceiver {
 public:
  // One read from the socket, and what follows from it.
  StreamState pull(int descriptor, FrameSink& sink);
  std::int64_t bytes() const { return bytes_; }
  // Of kOver: the system's error, or 0 where the peer closed or sent what can't be understood.
  int error() const { return error_; }
  const std::string& complaint() const { return complaint_; }

 private:
  StreamState consume(FrameSink& sink);
  bool begin_frame(FrameSink& sink);

  // Small frames, and the head of the next one, come with a read meant for something else.
  std::array<std::byte, 8192> staged_;
  std::size_t staged_begin_ = 0;
  std::size_t staged_end_ = 0;
  bool in_frame_ = false;
  FrameHead head_;
  std::span<std::byte> room_;  // what is left of it
  std::uint32_t expected_ = 0;
  std::int64_t bytes_ = 0;
  int error_ = 0;
  std::string complaint_;
};

}  // namespace gradhaul

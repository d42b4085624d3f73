#pragma once

// The copy engines of a GPU: one takes slices to pinned host memory, by posted writes, the other
// brings them from there, by read requests. Each copies one slice after the other, in the order in
// which copies were asked for.

#include <cstdint>
#include <deque>

#include "sim/injector.h"

namespace gradhaul {

// What an engine moves as one train.
inline constexpr std::int32_t kCopyTrain = 4096;
// What it may have asked for that is not there yet, an estimate: enough to keep 16 lanes of PCIe 5
// busy over 2 us, little enough to take turns with NICs.
inline constexpr std::int64_t kCopyWindow = 128 * 1024;
// What of its writes may wait before the GPU's link.
inline constexpr std::int64_t kCopyBuffer = kPeerBuffer;

struct CopyEngine {
  std::deque<std::int32_t> waiting;  // messages, the one that is being copied first
  std::int64_t outstanding = 0;      // bytes
  std::int64_t wake = INT64_MAX;
  struct Return {
    std::int64_t time;
    std::int64_t bytes;
  };
  std::deque<Return> returns;  // of what is asked for

  // Lets go of what is there at `now`.
  void absorb(std::int64_t now) {
    while (!returns.empty() && returns.front().time <= now) {
      outstanding -= returns.front().bytes;
      returns.pop_front();
    }
  }
};

}  // namespace gradhaul

#pragma once

// Computations on GPUs, and how collectives slow them down: each channel of a collective that is
// under way on a GPU is a thread block that keeps one multiprocessor to itself, so that of m
// multiprocessors a computation has what is left and goes on (m - channels) / m times as fast. One
// is always left.

#include <cstdint>
#include <vector>

#include "core/quantities.h"
#include "sim/packet_engine.h"

namespace gradhaul {

class ComputeUnits {
 public:
  // multiprocessors 0: computations have a GPU to themselves.
  ComputeUnits(PacketEngine& engine, int gpus, int multiprocessors);

  // `member` is what on_event() answers when it is done.
  void begin(int gpu, int member, Duration work);
  // A collective begins on a GPU with so many channels, and is complete there.
  void take(int gpu, int channels);
  void give_back(int gpu, int channels);
  // The computation that is done now, kNone where that has been put off.
  int on_event(std::int32_t index);

 private:
  struct Computation {
    int member = kNone;
    int gpu = 0;
    std::int64_t left = 0;  // ps of work, times multiprocessors
    std::int64_t since = 0;
    std::int64_t due = 0;
  };
  struct Gpu {
    int taken = 0;
    std::vector<std::int32_t> computing;
  };
  std::int64_t speed(const Gpu& gpu) const;
  void settle(Gpu& gpu);
  void aim(std::int32_t index);
  void change(int gpu, int taken);

  PacketEngine& engine_;
  std::int64_t units_;  // that a GPU has
  bool compete_;
  std::vector<Gpu> gpus_;
  std::vector<Computation> computations_;
  std::vector<std::int32_t> free_;
};

}  // namespace gradhaul

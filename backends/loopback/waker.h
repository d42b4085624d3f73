#pragma once

// How a rank that waits for memory to change is woken by whoever changes it: a futex that lies in
// memory of both, threads or processes. Costs who publishes one atomic addition, and a system call
// only where somebody sleeps.

#include <atomic>
#include <chrono>
#include <cstdint>

namespace gradhaul {

// Zero bytes are one that nobody has woken; wherever it lies it is used in place.
class Waker {
 public:
  // What has been published before is seen by whoever wakes.
  void wake();
  // To be taken before looking for what was published.
  std::uint32_t seen() const { return calls_.load(std::memory_order_seq_cst); }
  // Until wake() is called, or was since `seen`, but not for longer than this.
  void wait(std::uint32_t seen, std::chrono::microseconds most);

 private:
  std::atomic<std::uint32_t> calls_;
  std::atomic<std::uint32_t> sleepers_;
};

}  // namespace gradhaul

#include "backends/loopback/waker.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace gradhaul {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

void Waker::wake() {
  calls_.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) == 0) return;
  syscall(SYS_futex, &calls_, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void Waker::wait(std::uint32_t seen, std::chrono::microseconds most) {
  const auto count = most.count();
  const timespec limit{static_cast<std::time_t>(count / 1'000'000),
                       static_cast<long>(count % 1'000'000 * 1000)};
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  // Returns at once where somebody called in between.
  syscall(SYS_futex, &calls_, FUTEX_WAIT, seen, &limit, nullptr, 0);
  sleepers_.fetch_sub(1, std::memory_order_seq_cst);
}

}  // namespace gradhaul

#pragma once

// How a driver of an endpoint polls, and how seldom it looks whether its peers are still there. A
// peer that has a core answers within microseconds; one that has not needs ours. So it polls a few
// times, then yields between polls to whoever else wants the core, and only then sleeps: to be
// woken from the other core takes an interrupt, which over sockets cost more than the copies of
// what a slice holds. tests/bench/sockets_beside_iperf3.py shows it. Where somebody else did take
// the core it sleeps at once: whoever is woken gets the core back sooner than whoever yielded it.

#include <chrono>
#include <thread>

namespace gradhaul {

inline constexpr int kPollsBeforeYielding = 20;
inline constexpr int kPollsBeforeWaiting = 200;
inline constexpr std::chrono::microseconds kLongestYield{200};
inline constexpr std::chrono::microseconds kWait{1000};
inline constexpr std::chrono::milliseconds kBetweenLooks{20};

// After so many polls in vain, whether to poll on; if not, not after more of them either.
inline bool polls_on(int& idle_polls) {
  if (idle_polls >= kPollsBeforeWaiting) return false;
  if (idle_polls < kPollsBeforeYielding) return true;
  const auto before = std::chrono::steady_clock::now();
  std::this_thread::yield();
  if (std::chrono::steady_clock::now() - before > kLongestYield) idle_polls = kPollsBeforeWaiting;
  return idle_polls < kPollsBeforeWaiting;
}

}  // namespace gradhaul

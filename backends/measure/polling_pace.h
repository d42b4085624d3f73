#pragma once

// How a driver of an endpoint polls: so often in vain before it gives the core away, for no longer
// than that, and how seldom it looks whether its peers are still there. A peer that has a core
// answers within microseconds; one that has not needs ours.

#include <chrono>

namespace gradhaul {

inline constexpr int kPollsBeforeWaiting = 20;
inline constexpr std::chrono::microseconds kWait{1000};
inline constexpr std::chrono::milliseconds kBetweenLooks{20};

}  // namespace gradhaul

#pragma once

// Totals of what happens over and over: once a period is known, `times` more of it are added at
// once.

#include <cstdint>

namespace gradhaul {

// What `total` has grown by since it was `since`, so many times more.
template <typename Total>
constexpr void grow_again(Total& total, const Total& since, std::int64_t times) {
  total += (total - since) * times;
}

}  // namespace gradhaul

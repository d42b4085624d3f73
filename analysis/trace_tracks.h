#pragma once

// Slices that may overlap, in threads in which they don't: a viewer shows those of one thread as
// nested or cuts them off.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gradhaul {

// What is shown of a transfer or operation: `stage` says what, `index` of which, in which row.
struct TracePiece {
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::int32_t row = 0;
  std::int32_t stage = 0;
  std::int64_t index = 0;
};

// Sorts them by their starts, and gives each the first of as few threads as needed in which it
// overlaps none: by piece, numbers from 0.
std::vector<std::size_t> lay_side_by_side(std::vector<TracePiece>& pieces);

}  // namespace gradhaul

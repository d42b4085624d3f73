#include "analysis/trace_tracks.h"

#include <algorithm>
#include <tuple>

namespace gradhaul {

std::vector<std::size_t> lay_side_by_side(std::vector<TracePiece>& pieces) {
  std::sort(pieces.begin(), pieces.end(), [](const TracePiece& a, const TracePiece& b) {
    return std::tuple(a.start, a.end, a.row, a.index) < std::tuple(b.start, b.end, b.row, b.index);
  });
  std::vector<std::size_t> threads;
  std::vector<std::int64_t> ends;  // by thread
  for (const TracePiece& piece : pieces) {
    const auto free = std::find_if(ends.begin(), ends.end(),
                                   [&](std::int64_t end) { return end <= piece.start; });
    threads.push_back(static_cast<std::size_t>(free - ends.begin()));
    if (free == ends.end()) {
      ends.push_back(piece.end);
    } else {
      *free = piece.end;
    }
  }
  return threads;
}

}  // namespace gradhaul

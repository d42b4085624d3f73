#include "core/leaf_ring.h"

#include "core/assert.h"

namespace gradhaul {
namespace {

// Whether the way of so many cables clockwise passes through `leaf`, its ends apart.
bool passes(int leaves, int from, int cables, int leaf) {
  const int after = (leaf - from + leaves) % leaves;
  return after > 0 && after < cables;
}

bool goes_clockwise(RingWay way, int leaves, int from, int to) {
  const int clockwise = (to - from + leaves) % leaves;
  const int back = leaves - clockwise;
  if (way == RingWay::kClockwise) return true;
  if (way == RingWay::kUpDown) {
    const int farthest = (leaves + 1) / 2;
    if (passes(leaves, from, clockwise, farthest)) return false;
    if (passes(leaves, to, back, farthest)) return true;
  }
  return clockwise <= back;
}

}  // namespace

std::vector<int> leaves_on_way(RingWay way, int leaves, int from, int to) {
  GRADHAUL_ASSERT(leaves >= 3, "fewer leaves are no ring");
  std::vector<int> passed{from};
  if (from == to) return passed;
  const int on = goes_clockwise(way, leaves, from, to) ? 1 : leaves - 1;
  for (int leaf = from; leaf != to;) {
    leaf = (leaf + on) % leaves;
    passed.push_back(leaf);
  }
  return passed;
}

}  // namespace gradhaul

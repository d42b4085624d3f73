#pragma once

// Whether two items of a schedule ask for the same, where one stands for the other: operation,
// sizes, transfers and dependency. Which elements they are does not count.

#include "core/schedule.h"

namespace gradhaul {

// `peer(rank)`: the rank that `b` has where `a` has this one. `index(dependency)`: what `b` waits
// for in the same lane where `a` waits for this.
template <typename Peer, typename Index>
bool alike(const Item& a, const Item& b, Peer peer, Index index) {
  if (a.operation != b.operation || a.span.count != b.span.count ||
      a.right.has_value() != b.right.has_value() || a.receive_count != b.receive_count ||
      a.send_count != b.send_count || a.after.has_value() != b.after.has_value()) {
    return false;
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.receive_count); ++i) {
    if (peer(a.receives[i].peer) != b.receives[i].peer ||
        a.receives[i].stream != b.receives[i].stream) {
      return false;
    }
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.send_count); ++i) {
    if (peer(a.sends[i].peer) != b.sends[i].peer || a.sends[i].stream != b.sends[i].stream ||
        a.sends[i].span.count != b.sends[i].span.count) {
      return false;
    }
  }
  return !a.after || (a.after->lane == b.after->lane && index(*a.after) == b.after->index);
}

}  // namespace gradhaul

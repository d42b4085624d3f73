#pragma once

// Ways over a ring of leaves, where leaf l is cabled to leaf l + 1 and the last one to the first.
//
//  - shortest: the way over fewer cables, clockwise (to l + 1) where both ways are as long. What
//    OpenSM's min-hop routing makes of a ring.
//  - clockwise: always that way.
//  - up_down: leaf 0 is the root, and a way never leads towards it again once it has led away from
//    it [Schroeder et al., "Autonet: a high-speed, self-configuring local area network using
//    point-to-point links", IEEE JSAC 9(8), 1991, section 6.6.4; OpenSM's `updn`]. Distances from
//    the root being equal, towards the lower number counts as towards the root. So nothing passes
//    through the leaf that lies farthest, ceil(leaves / 2); all else goes the shorter way that is
//    left to it, clockwise where both are as long.
//
// With the first two, where buffers are lossless, packets can wait for each other all the way round
// (sim/buffer_cycles.h). That takes ways over at least two cables from every leaf: with `shortest`
// four leaves or more. With up_down it cannot be.

#include <vector>

#include "core/cluster.h"

namespace gradhaul {

// All leaves on the way, both ends included. Requires 0 <= from, to < leaves, and leaves >= 3.
std::vector<int> leaves_on_way(RingWay way, int leaves, int from, int to);

}  // namespace gradhaul

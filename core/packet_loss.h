#pragma once

// Where packets may be lost at all, or overtake each other, so that queue pairs have to keep
// account of them.

#include "core/cluster.h"

namespace gradhaul {

// Whether a lossless port's headroom is less than its longest cable asks for
// (core/pause_headroom.h).
bool headroom_is_short(const Network& network);
// What the longest cable of a RoCE network asks for.
Bytes needed_headroom(const Network& network);

// Links that garble packets or go down; Ethernet that drops what its buffers cannot hold, or whose
// pauses come too late or are not heeded.
bool may_lose_packets(const Cluster& cluster);

// Whether each packet is sent its way by itself, where there are several.
bool chooses_ways(Routing routing);

// Whether switches choose among several ways for each packet, so that one may overtake another.
bool spreads_packets(const Cluster& cluster);

// Whether receivers take a gap for a loss and tell of it; else they place whatever comes.
bool tells_gaps(const Cluster& cluster);

// Either: queue pairs number their packets, and what happens does not recur.
inline bool numbers_packets(const Cluster& cluster) {
  return may_lose_packets(cluster) || spreads_packets(cluster);
}

}  // namespace gradhaul

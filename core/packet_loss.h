#pragma once

// Where packets may be lost at all, so that queue pairs have to keep account of them.

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

}  // namespace gradhaul

#pragma once

// Whether a RoCE network pauses links that nothing holds up, which only fidelity packet reckons
// with.

#include "core/cluster.h"

namespace gradhaul {

struct PauseMarks {
  Bytes xoff;
  Bytes xon;
};

// The least that a port of a switch has: where ports share its buffer, with all others full.
PauseMarks least_marks(const Network& network);

// Of a port with nothing in its way, what is in the switch at once. Where it pauses below that,
// its link stands still without need.
Bytes held_in_passing(const Network& network);

// What goes out while the peer is told to go on, and until its packets come again over the longest
// cable. Where it is let go on below that, what is behind the switch runs dry.
Bytes gone_before_resumed(const Network& network);

bool pauses_without_need(const Network& network);

}  // namespace gradhaul

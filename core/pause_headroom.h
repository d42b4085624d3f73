#pragma once

// What a lossless port needs of buffer beyond the mark at which it pauses its peer.

#include "core/quantities.h"

namespace gradhaul {

// In wire bytes: H = L (a frame on its way the other way, which the pause frame waits for) + 84
// (the pause frame) + rate x (there and back on the cable + response) + L (the frame that the peer
// has just started) + L (the mark is looked at when a frame is there whole). [IEEE 802.1Qbb annex
// O; the last term is this model's: without it a frame that crosses the mark would count in part]
//
// `largest`: the largest packet on the wire.
Bytes pause_headroom(BitRate rate, Bytes largest, Duration cable, Duration response);

}  // namespace gradhaul

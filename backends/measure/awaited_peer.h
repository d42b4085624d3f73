#pragma once

// For whom a rank waits that makes no progress: what stands in the report when it gives up.

#include <optional>
#include <string>

#include "core/lane.h"

namespace gradhaul {

struct AwaitedPeer {
  Rank peer = 0;
  std::string what;  // "data from rank 2 (channel 4, item 17 of 60)"
};

// The first that is found, receives before sends: who waits to send may wait only because somebody
// further on does not receive. Nothing where it waits for no peer.
std::optional<AwaitedPeer> awaited_peer(const EngineState& state);
// Once all is done here: who has not given back all slots, of `slots` of each connection, and so
// not read all that was sent.
std::optional<AwaitedPeer> awaited_return(const EngineState& state, int slots);

}  // namespace gradhaul

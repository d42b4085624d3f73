#pragma once

// Who is joined to whom: what a driver needs to wire ranks together before a collective starts.

#include <compare>
#include <cstdint>

#include "core/communication.h"
#include "core/completion.h"

namespace gradhaul {

// One direction between two ranks; the same key on both ends.
struct ConnectionKey {
  std::int32_t channel = 0;
  Rank source = 0;
  Rank destination = 0;
  std::int32_t stream = 0;
  friend auto operator<=>(const ConnectionKey&, const ConnectionKey&) = default;
};

// This rank's end of it. Credits travel against the direction of the connection.
struct ConnectionEnd {
  ConnectionKey key;
  bool sends = false;  // this rank is key.source
  // At a receiving end: its slots lie at slots_offset + slot * slot_size in Region::kSlots.
  Bytes slots_offset;
};

}  // namespace gradhaul

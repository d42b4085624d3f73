#pragma once

// A place in a lane's items, with the item there: computed once, and with its connections found.

#include <array>
#include <cstdint>
#include <vector>

#include "core/connection.h"
#include "core/engine_layout.h"
#include "core/schedule.h"

namespace gradhaul {

struct ItemCursor {
  std::int64_t index = 0;
  bool loaded = false;
  Item item;  // without the transfers whose span is empty
  // Of the item's receives, or of its sends.
  std::array<ConnectionId, kMaxPeersOfItem> connections{};
  std::size_t last_found = 0;  // in the lane's list of connections

  void advance() {
    ++index;
    loaded = false;
  }
};

// What both ends leave out.
void drop_empty_transfers(Item& item);

enum class ItemSide : std::uint8_t { kReceives, kSends };

// Computes the item at the cursor and finds the connections of one of its sides.
class ItemLoader {
 public:
  // Both outlive it.
  ItemLoader(const Schedule& schedule, Rank rank, const std::vector<ConnectionEnd>& ends)
      : schedule_(schedule), rank_(rank), ends_(ends) {}
  void load(const LaneLayout& lane, ItemCursor& cursor, ItemSide side) const;

 private:
  ConnectionId find(const std::vector<ConnectionId>& among, Rank peer, int stream,
                    ItemCursor& cursor) const;

  const Schedule& schedule_;
  Rank rank_;
  const std::vector<ConnectionEnd>& ends_;
};

}  // namespace gradhaul

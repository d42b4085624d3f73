#pragma once

// Places in a lane's items, each with what whoever stands there needs of the item, computed once,
// and with its connections found. Nothing else of it is kept: a rank of a large ring has dozens of
// lanes, which its machine's caches must hold beside all the others' where many are simulated.

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
  std::uint32_t last_found = 0;  // in the lane's list of connections
  // Of the item's receives, or of its sends.
  std::array<ConnectionId, kMaxPeersOfItem> connections{};

  void advance() {
    ++index;
    loaded = false;
  }
};

// Transfers whose span is empty are left out everywhere.
struct StartCursor : ItemCursor {
  ItemOperation item;
};

struct SendCursor : ItemCursor {
  int send_count = 0;
  OfPeers<ItemSend> sends;
};

struct FinishCursor : ItemCursor {
  int send_count = 0;
};

// What both ends leave out.
void drop_empty_transfers(Item& item);

// Computes what a cursor needs of the item at its place.
class ItemLoader {
 public:
  // Both outlive it.
  ItemLoader(const Schedule& schedule, Rank rank, const std::vector<ConnectionEnd>& ends)
      : schedule_(schedule), rank_(rank), ends_(ends) {}
  void load(const LaneLayout& lane, StartCursor& cursor) const;
  void load(const LaneLayout& lane, SendCursor& cursor) const;
  void load(const LaneLayout& lane, FinishCursor& cursor) const;

 private:
  Item item_at(const LaneLayout& lane, const ItemCursor& cursor) const;
  void find_sends(const LaneLayout& lane, const Item& item, ItemCursor& cursor) const;
  ConnectionId find(const std::vector<ConnectionId>& among, Rank peer, int stream,
                    ItemCursor& cursor) const;

  const Schedule& schedule_;
  Rank rank_;
  const std::vector<ConnectionEnd>& ends_;
};

}  // namespace gradhaul

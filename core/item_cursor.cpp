#include "core/item_cursor.h"

#include "core/assert.h"

namespace gradhaul {

void drop_empty_transfers(Item& item) {
  if (item.span.count == 0 || item.operation == Operation::kNone) {
    GRADHAUL_ASSERT(item.span.count == 0 || item.receive_count == 0,
                    "what is received is reduced or copied");
    item.operation = Operation::kNone;
    item.receive_count = 0;
  }
  GRADHAUL_ASSERT(item.operation != Operation::kReduce || item.receive_count >= 1 || item.right,
                  "a reduction has something to add");
  GRADHAUL_ASSERT(item.operation != Operation::kCopy || item.receive_count <= 1,
                  "a copy has one source");
  int kept = 0;
  for (int i = 0; i < item.send_count; ++i) {
    const ItemSend send = item.sends[static_cast<std::size_t>(i)];
    if (send.span.count > 0) item.sends[static_cast<std::size_t>(kept++)] = send;
  }
  item.send_count = kept;
}

Item ItemLoader::item_at(const LaneLayout& lane, const ItemCursor& cursor) const {
  Item item = schedule_.item(rank_, lane.channel, lane.number, cursor.index);
  drop_empty_transfers(item);
  return item;
}

void ItemLoader::load(const LaneLayout& lane, StartCursor& cursor) const {
  const Item item = item_at(lane, cursor);
  cursor.item = item;
  cursor.loaded = true;
  for (std::size_t i = 0; i < static_cast<std::size_t>(item.receive_count); ++i) {
    const ItemReceive& receive = item.receives[i];
    cursor.connections[i] = find(lane.receives, receive.peer, receive.stream, cursor);
  }
}

void ItemLoader::load(const LaneLayout& lane, SendCursor& cursor) const {
  const Item item = item_at(lane, cursor);
  cursor.send_count = item.send_count;
  for (std::size_t i = 0; i < static_cast<std::size_t>(item.send_count); ++i) {
    cursor.sends[i] = item.sends[i];
  }
  find_sends(lane, item, cursor);
}

void ItemLoader::load(const LaneLayout& lane, FinishCursor& cursor) const {
  const Item item = item_at(lane, cursor);
  cursor.send_count = item.send_count;
  find_sends(lane, item, cursor);
}

void ItemLoader::find_sends(const LaneLayout& lane, const Item& item, ItemCursor& cursor) const {
  cursor.loaded = true;
  for (std::size_t i = 0; i < static_cast<std::size_t>(item.send_count); ++i) {
    const ItemSend& send = item.sends[i];
    cursor.connections[i] = find(lane.sends, send.peer, send.stream, cursor);
  }
}

// From where the last one was found: a lane meets its peers in the order of its list, over and
// over.
ConnectionId ItemLoader::find(const std::vector<ConnectionId>& among, Rank peer, int stream,
                              ItemCursor& cursor) const {
  for (std::size_t tried = 0; tried < among.size(); ++tried) {
    const ConnectionId id = among[cursor.last_found];
    const ConnectionEnd& end = ends_[static_cast<std::size_t>(id)];
    const Rank other = end.sends ? end.key.destination : end.key.source;
    if (other == peer && end.key.stream == stream) return id;
    if (++cursor.last_found == among.size()) cursor.last_found = 0;
  }
  GRADHAUL_ASSERT(false, "an item's peer is a peer of its step");
  return -1;
}

}  // namespace gradhaul

#include "core/engine_layout.h"

#include <algorithm>

#include "core/assert.h"

namespace gradhaul {
namespace {

class LayoutWalk {
 public:
  LayoutWalk(const Schedule& schedule, Rank rank, Bytes connection_slots)
      : schedule_(schedule), rank_(rank), connection_slots_(connection_slots) {}

  EngineLayout walk() {
    for (int channel = 0; channel < schedule_.channels(); ++channel) {
      for (int lane = 0; lane < schedule_.lanes(); ++lane) walk_lane(channel, lane);
    }
    assert_each_in_one_lane();
    return std::move(layout_);
  }

 private:
  void walk_lane(int channel, int number) {
    LaneLayout& lane = layout_.lanes.emplace_back();
    lane.channel = channel;
    lane.number = number;
    lane.items = schedule_.items(rank_, channel, number);
    const std::int64_t slice = schedule_.items_per_slice(rank_, channel, number);
    const std::int64_t step = slice * schedule_.slices_per_step(channel);
    for (std::int64_t first = 0; first < lane.items; first += step) {
      for (std::int64_t i = first; i < std::min(first + slice, lane.items); ++i) {
        add_item(lane, schedule_.item(rank_, channel, number, i));
      }
    }
  }

  void add_item(LaneLayout& lane, const Item& item) {
    if (item.span.count > 0 && item.operation != Operation::kNone) {
      lane.most_receives = std::max(lane.most_receives, item.receive_count);
      for (int i = 0; i < item.receive_count; ++i) {
        const ItemReceive& receive = item.receives[static_cast<std::size_t>(i)];
        add(lane.receives, {lane.channel, receive.peer, rank_, receive.stream}, false);
      }
    }
    for (int i = 0; i < item.send_count; ++i) {
      const ItemSend& send = item.sends[static_cast<std::size_t>(i)];
      if (send.span.count == 0) continue;
      add(lane.sends, {lane.channel, rank_, send.peer, send.stream}, true);
    }
  }

  void add(std::vector<ConnectionId>& known, const ConnectionKey& key, bool sends) {
    GRADHAUL_ASSERT(key.source != key.destination, "a rank sends nothing to itself");
    // Steps often repeat the peer of the step before.
    for (auto id = known.rbegin(); id != known.rend(); ++id) {
      if (layout_.connections[static_cast<std::size_t>(*id)].key == key) return;
    }
    known.push_back(static_cast<ConnectionId>(layout_.connections.size()));
    layout_.connections.push_back({key, sends, sends ? Bytes{} : layout_.slots_bytes});
    layout_.lane_of_connection.push_back(static_cast<int>(layout_.lanes.size()) - 1);
    if (!sends) layout_.slots_bytes += connection_slots_;
  }

  void assert_each_in_one_lane() const {
    std::vector<ConnectionKey> keys;
    for (const ConnectionEnd& end : layout_.connections) keys.push_back(end.key);
    std::sort(keys.begin(), keys.end());
    GRADHAUL_ASSERT(std::adjacent_find(keys.begin(), keys.end()) == keys.end(),
                    "each end of a connection belongs to one lane");
  }

  const Schedule& schedule_;
  Rank rank_;
  Bytes connection_slots_;
  EngineLayout layout_;
};

}  // namespace

EngineLayout lay_out(const Schedule& schedule, Rank rank, int slots, Bytes slot_size) {
  GRADHAUL_ASSERT(slots >= 1 && slot_size.count >= 1, "a connection has at least one slot");
  return LayoutWalk(schedule, rank, slot_size * slots).walk();
}

}  // namespace gradhaul

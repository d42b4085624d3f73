#pragma once

// What the engine knows of its connections and lanes: counters and cursors only.

#include <cstdint>
#include <vector>

#include "core/bounded_queue.h"
#include "core/engine_layout.h"
#include "core/item_cursor.h"
#include "core/slot_window.h"

namespace gradhaul {

constexpr int kMaxLanes = 64;  // of a channel: a set of them is one word

struct Connection {
  SendWindow sending;
  ReceiveWindow receiving;
  int lane = 0;        // index into the lanes of the rank
  bool sends = false;  // as its end says, where completions look at it anyway
};

// A reduce or copy that was posted: its completion names only the stream.
struct PostedOperation {
  std::int64_t item = 0;
  ConnectionId receive = -1;  // whose slot it reads
};

// Three cursors follow each other through the items: operations start, results are sent, and what
// was sent is written out. Each moves when its own guards allow, so none holds up the one before.
struct Lane {
  Lane(const LaneLayout& lane_layout, std::size_t operation_limit)
      : layout(lane_layout), operations(operation_limit), operation_limit_(operation_limit) {}

  bool has_room_for(std::size_t count) const {
    return operations.size() + count <= operation_limit_;
  }
  // Items before it have their operations done.
  std::int64_t operated() const {
    return operations.empty() ? start.index : operations.front().item;
  }

  LaneLayout layout;
  StartCursor start;
  SendCursor send;
  FinishCursor finish;
  unsigned posted_sends = 0;  // of the item at `send`, by bit
  int waits_on = -1;          // the lane whose `finish` holds up `start`, of this channel:
  int waits_in = -1;          // mostly its own
  BoundedQueue<PostedOperation> operations;

 private:
  std::size_t operation_limit_;
};

// All of a rank's, as the engine moves it and the stall table shows it.
struct EngineState {
  const Schedule& schedule;
  Rank rank = 0;
  int lanes_per_channel = 1;
  std::vector<ConnectionEnd> ends;
  std::vector<Connection> connections;  // of the same index
  std::vector<Lane> lanes;              // by channel, then number

  Connection& connection(ConnectionId id) { return connections[static_cast<std::size_t>(id)]; }
  const Connection& connection(ConnectionId id) const {
    return connections[static_cast<std::size_t>(id)];
  }
  const ConnectionEnd& end(ConnectionId id) const { return ends[static_cast<std::size_t>(id)]; }
  Lane& lane(int channel, int number) {
    return lanes[static_cast<std::size_t>(channel * lanes_per_channel + number)];
  }
  const Lane& lane(int channel, int number) const {
    return lanes[static_cast<std::size_t>(channel * lanes_per_channel + number)];
  }
  // Those of its channel, by bit.
  std::uint64_t lanes_waiting_on(const Lane& held_for) const {
    std::uint64_t waiting = 0;
    for (int number = 0; number < lanes_per_channel; ++number) {
      const Lane& other = lane(held_for.layout.channel, number);
      const bool waits =
          other.waits_on == held_for.layout.number && other.waits_in == held_for.layout.channel;
      if (&other != &held_for && waits) waiting |= std::uint64_t{1} << number;
    }
    return waiting;
  }
  bool dependency_met(const Lane& waiting, const ItemOperation& item) const {
    return !item.after || lane(channel_of(waiting, *item.after), item.after->lane).finish.index >
                              item.after->index;
  }
  bool freed_by_other_channel(const Lane& lane) const {
    return lane.waits_on >= 0 && lane.waits_in != lane.layout.channel &&
           dependency_met(lane, lane.start.item);
  }
  static int channel_of(const Lane& waiting, const Dependency& after) {
    return after.channel < 0 ? waiting.layout.channel : after.channel;
  }
};

}  // namespace gradhaul

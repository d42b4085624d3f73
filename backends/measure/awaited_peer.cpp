#include "backends/measure/awaited_peer.h"

namespace gradhaul {
namespace {

std::string where(const Lane& lane, const ItemCursor& cursor) {
  return " (channel " + std::to_string(lane.layout.channel) + ", item " +
         std::to_string(cursor.index) + " of " + std::to_string(lane.layout.items) + ")";
}

std::optional<AwaitedPeer> awaited_data(const EngineState& state, const Lane& lane) {
  if (lane.start.index >= lane.layout.items || !lane.start.loaded) return std::nullopt;
  for (int i = 0; i < lane.start.item.receive_count; ++i) {
    const auto index = static_cast<std::size_t>(i);
    const ConnectionId id = lane.start.connections[index];
    if (state.connection(id).receiving.has_arrival()) continue;
    const Rank peer = state.end(id).key.source;
    return AwaitedPeer{peer, "data from rank " + std::to_string(peer) + where(lane, lane.start)};
  }
  return std::nullopt;
}

std::optional<AwaitedPeer> awaited_slot(const EngineState& state, const Lane& lane) {
  if (lane.send.index >= lane.layout.items || !lane.send.loaded) return std::nullopt;
  for (int i = 0; i < lane.send.send_count; ++i) {
    const auto index = static_cast<std::size_t>(i);
    const bool posted = (lane.posted_sends >> i & 1U) != 0;
    const ConnectionId id = lane.send.connections[index];
    if (posted || state.connection(id).sending.has_credit()) continue;
    const Rank peer = state.end(id).key.destination;
    return AwaitedPeer{peer,
                       "a free slot of rank " + std::to_string(peer) + where(lane, lane.send)};
  }
  return std::nullopt;
}

std::optional<AwaitedPeer> awaited_completion(const EngineState& state) {
  for (std::size_t i = 0; i < state.ends.size(); ++i) {
    const ConnectionEnd& end = state.ends[i];
    const SendWindow& sending = state.connections[i].sending;
    const Rank peer = end.sends ? end.key.destination : end.key.source;
    const std::string channel = " (channel " + std::to_string(end.key.channel) + ")";
    if (end.sends && sending.in_flight() > 0) {
      return AwaitedPeer{peer, "a write to rank " + std::to_string(peer) + channel};
    }
    if (!end.sends && state.connections[i].receiving.credit_writes_in_flight() > 0) {
      return AwaitedPeer{peer, "the return of slots to rank " + std::to_string(peer) + channel};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<AwaitedPeer> awaited_peer(const EngineState& state) {
  for (const auto awaited : {awaited_data, awaited_slot}) {
    for (const Lane& lane : state.lanes) {
      if (const auto found = awaited(state, lane)) return found;
    }
  }
  return awaited_completion(state);
}

std::optional<AwaitedPeer> awaited_return(const EngineState& state, int slots) {
  for (std::size_t i = 0; i < state.ends.size(); ++i) {
    const ConnectionEnd& end = state.ends[i];
    const SendWindow& sending = state.connections[i].sending;
    if (!end.sends || sending.credits() >= sending.posted() + slots) continue;
    const Rank peer = end.key.destination;
    return AwaitedPeer{peer, "rank " + std::to_string(peer) + " to give back slots (channel " +
                                 std::to_string(end.key.channel) + ")"};
  }
  return std::nullopt;
}

}  // namespace gradhaul

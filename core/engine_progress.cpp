#include "core/engine_progress.h"

#include <algorithm>

#include "core/item_likeness.h"

namespace gradhaul {
namespace {

// Dependencies of the later item lie apart by as much as their lanes advanced.
bool asks_again(const Item& earlier, const Item& later, const std::vector<std::int64_t>& advanced) {
  return alike(
      earlier, later, [](Rank peer) { return peer; },
      [&](const Dependency& after) {
        return after.index + advanced[static_cast<std::size_t>(after.lane)];
      });
}

Item item_of(const EngineState& state, const Lane& lane, std::int64_t index) {
  Item item = state.schedule.item(state.rank, lane.layout.channel, lane.layout.number, index);
  drop_empty_transfers(item);
  return item;
}

// Where nothing is left to start, a lane sends and finishes what it started.
bool all_started(const Lane& lane) { return lane.start.index == lane.layout.items; }

// Up to which item all ask for the same as this one does, each so much further on: to the last
// slice but one of its step, if that is as large. See Schedule::steps_are_even().
std::int64_t alike_until(const EngineState& state, const Lane& lane, std::int64_t index) {
  const LaneLayout& layout = lane.layout;
  const Schedule& schedule = state.schedule;
  if (!schedule.steps_are_even() ||
      schedule.items_per_slice(state.rank, layout.channel, layout.number) != 1) {
    return index;
  }
  const std::int64_t slices = schedule.slices_per_step(layout.channel);
  const std::int64_t last_but_one = index - index % slices + slices - 2;
  if (last_but_one <= index) return index;
  const auto as_much_later = [&](const Dependency& after) {
    const std::int64_t items = schedule.items_per_slice(state.rank, layout.channel, after.lane);
    return after.index + (last_but_one - index) * items;
  };
  const bool same = alike(
      item_of(state, lane, index), item_of(state, lane, last_but_one),
      [](Rank peer) { return peer; }, as_much_later);
  return same ? last_but_one : index;
}

// How often, up to `most`, a cursor that went from item `since` to `now` finds the same further on:
// each repetition looks at the items so much later, and at the one it comes to stand at.
std::int64_t repetitions_of(const EngineState& state, const Lane& lane, std::int64_t since,
                            std::int64_t now, const std::vector<std::int64_t>& advanced,
                            std::int64_t most) {
  const std::int64_t shift = advanced[static_cast<std::size_t>(lane.layout.number)];
  // Past the end nothing is alike.
  most = std::min(most, (lane.layout.items - now) / shift + 1);
  const std::int64_t last = now + (most - 1) * shift;
  for (std::int64_t index = since; index <= last; ++index) {
    if (index + shift >= lane.layout.items ||
        !asks_again(item_of(state, lane, index), item_of(state, lane, index + shift), advanced)) {
      return index > now ? (index - 1 - now) / shift + 1 : 0;
    }
    index =
        std::min(alike_until(state, lane, index), alike_until(state, lane, index + shift) - shift);
  }
  return most;
}

// What lies between the cursors has been looked at by one and not yet by the next: it matters when
// that comes to it.
std::int64_t repetitions_of(const EngineState& state, const Lane& lane, const LanePlace& since,
                            const std::vector<std::int64_t>& advanced, std::int64_t most) {
  if (advanced[static_cast<std::size_t>(lane.layout.number)] == 0) return most;
  if (!all_started(lane)) {
    most = repetitions_of(state, lane, since.start, lane.start.index, advanced, most);
  }
  if (most > 0) most = repetitions_of(state, lane, since.send, lane.send.index, advanced, most);
  if (most > 0) {
    most = repetitions_of(state, lane, since.finish, lane.finish.index, advanced, most);
  }
  return most;
}

}  // namespace

std::vector<LanePlace> places_of(const EngineState& state) {
  std::vector<LanePlace> places;
  places.reserve(state.lanes.size());
  for (const Lane& lane : state.lanes) {
    places.push_back({lane.start.index, lane.send.index, lane.finish.index});
  }
  return places;
}

void append_state(const EngineState& state, std::vector<std::int64_t>& words) {
  for (const Connection& connection : state.connections) {
    connection.sending.append_state(words);
    connection.receiving.append_state(words);
  }
  for (const Lane& lane : state.lanes) {
    const std::int64_t origin = lane.finish.index;
    words.insert(words.end(), {all_started(lane) ? -1 : lane.start.index - origin,
                               lane.send.index - origin, std::int64_t{lane.posted_sends},
                               lane.waits_on, static_cast<std::int64_t>(lane.operations.size())});
    for (std::size_t i = 0; i < lane.operations.size(); ++i) {
      const PostedOperation& posted = lane.operations.at(i);
      words.insert(words.end(), {posted.item - origin, posted.receive});
    }
  }
}

std::int64_t repetitions(const EngineState& state, const EngineProgress& since, std::int64_t most) {
  std::vector<std::int64_t> advanced(static_cast<std::size_t>(state.lanes_per_channel));
  for (std::size_t first = 0; first < state.lanes.size(); first += advanced.size()) {
    for (std::size_t i = 0; i < advanced.size(); ++i) {
      advanced[i] = state.lanes[first + i].finish.index - since.lanes[first + i].finish;
    }
    for (std::size_t i = 0; i < advanced.size() && most > 0; ++i) {
      most = repetitions_of(state, state.lanes[first + i], since.lanes[first + i], advanced, most);
    }
  }
  return most;
}

void repeat(EngineState& state, const EngineProgress& since, std::int64_t times) {
  for (std::size_t i = 0; i < state.lanes.size(); ++i) {
    Lane& lane = state.lanes[i];
    const LanePlace& before = since.lanes[i];
    const std::int64_t started = (lane.start.index - before.start) * times;
    const auto move = [](ItemCursor& cursor, std::int64_t by) {
      cursor.index += by;
      cursor.loaded = false;
    };
    move(lane.start, started);
    move(lane.send, (lane.send.index - before.send) * times);
    move(lane.finish, (lane.finish.index - before.finish) * times);
    for (std::size_t j = 0; j < lane.operations.size(); ++j) lane.operations.at(j).item += started;
  }
  for (std::size_t i = 0; i < state.connections.size(); ++i) {
    state.connections[i].sending.repeat(since.connections[i].sending, times);
    state.connections[i].receiving.repeat(since.connections[i].receiving, times);
  }
}

}  // namespace gradhaul

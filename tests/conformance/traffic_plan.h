#pragma once

// What goes over which connections in contract_traffic.h, and the world it needs.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/connection.h"
#include "tests/conformance/transport_harness.h"

namespace gradhaul::conformance {

struct TrafficPlan {
  std::vector<ConnectionKey> connections;
  int slots = 2;
  std::int64_t writes = 10;                     // of each connection
  std::vector<std::int64_t> lengths{1, 64, 5};  // of writes 0, 1, 2, and so on, over and over
  int writes_per_flush = 1;                     // 0: one flush at the end of each round
  int slots_per_credit = 1;                     // at most; smaller credits come in between
  bool posts_from_deliveries = true;            // else when a step has returned
  bool through_reducer = false;  // what arrives is copied by the reducer, and read there
  // Write `failing_write` of the first connection fails; -1: none does.
  std::int64_t failing_write = -1;
};

// Each rank's slots, sources and copies follow each other in the order of its connections.
inline WorldShape shape_of(const TrafficPlan& plan) {
  WorldShape shape;
  shape.slots = plan.slots;
  shape.slot_size = {*std::ranges::max_element(plan.lengths)};
  Rank ranks = 0;
  for (const ConnectionKey& key : plan.connections) {
    ranks = std::max({ranks, key.source + 1, key.destination + 1});
  }
  shape.connections.resize(static_cast<std::size_t>(ranks));
  shape.slots_bytes.resize(static_cast<std::size_t>(ranks));
  const Bytes connection_slots = shape.slot_size * plan.slots;
  for (const ConnectionKey& key : plan.connections) {
    shape.connections[static_cast<std::size_t>(key.source)].push_back({key, true, {}});
    Bytes& slots = shape.slots_bytes[static_cast<std::size_t>(key.destination)];
    shape.connections[static_cast<std::size_t>(key.destination)].push_back({key, false, slots});
    slots += connection_slots;
  }
  for (const auto& ends : shape.connections) {
    shape.input = std::max(shape.input, connection_slots * static_cast<std::int64_t>(ends.size()));
  }
  shape.output = shape.input;
  return shape;
}

}  // namespace gradhaul::conformance

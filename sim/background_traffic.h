#pragma once

// Background traffic (core/task_graph.h): who sends what to whom, and when.

#include <cstdint>
#include <string>
#include <vector>

#include "core/cluster.h"
#include "core/task_graph.h"
#include "sim/wiring.h"

namespace gradhaul {

// What one NIC sends: in each `interval` of time one message, begun at a moment in it that is
// drawn.
struct TrafficSource {
  int nic = 0;                    // node * node.nic_count + its number
  std::vector<int> destinations;  // likewise
  std::int64_t interval = 1;      // ps
};

struct TrafficPlan {
  std::string name;
  std::uint64_t key = 0;  // of its draws, made of its name
  TrafficPattern pattern = TrafficPattern::kPermutation;
  Bytes message;
  std::vector<TrafficSource> sources;  // by NIC
  std::size_t first_connection = 0;    // of the whole wiring
  std::size_t connections = 0;
};

// Of one message on a wire, headers included.
Bytes wire_bytes(const Network& network, Bytes message);

// Throws SimulationError where the pattern finds nobody to send to.
TrafficPlan plan_traffic(const Cluster& cluster, const BackgroundTraffic& traffic,
                         std::uint64_t seed);

// A connection for each source and destination, from the memory of the GPU nearest to the one NIC
// to that of the GPU nearest to the other. As ranks they are NICs; the streams of connections are
// the numbers of their sources.
Wiring wire_traffic(const Fabric& fabric, const TrafficPlan& plan, std::uint64_t seed);
std::vector<ConnectionKey> connections_of(const TrafficPlan& plan);

// When the source's message number `count` begins, in ps, and which of its destinations it is for.
std::int64_t message_start(const TrafficPlan& plan, std::size_t source, std::int64_t count,
                           std::uint64_t seed);
std::size_t message_destination(const TrafficPlan& plan, std::size_t source, std::int64_t count,
                                std::uint64_t seed);

}  // namespace gradhaul

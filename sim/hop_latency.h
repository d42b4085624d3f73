#pragma once

// What one message costs between idle ends, from post to arrival, and what comes after it: the
// kernel that takes it in and the slot's way back. All in the packet model's own terms
// (sim/idle_connection.h) and equal to it to the picosecond where nothing else is on the way; where
// PCIe credits run out within a packet it may be some nanoseconds off (sim/idle_route.h).

#include <cstdint>
#include <map>
#include <tuple>

#include "core/placement.h"
#include "core/reducer.h"
#include "sim/fabric.h"
#include "sim/idle_connection.h"
#include "sim/trace_parts.h"

namespace gradhaul {

struct MessageTime {
  Duration arrived;  // from its post until the receiver's kernel may read it
  Duration done;     // from its post until the sender knows that it is written
  // A message as large, posted at the same time behind it, arrives so much later: what the slowest
  // stage takes.
  Duration spacing;
};

// Throws SimulationError where there is no path. Where all nodes are alike, hops that differ in
// their nodes alone, and cross as many switches, are worked out once.
class HopLatency {
 public:
  // The fabric outlives this.
  HopLatency(const Fabric& fabric, int ranks_per_node, Protocol protocol = Protocol::kSimple);
  // With what communication threads take for this plan.
  HopLatency(const Fabric& fabric, int ranks_per_node, const Communication& communication);

  // Of `size` data, which the protocol's flags come on top of, from hop.source to hop.destination.
  MessageTime message(const Hop& hop, Bytes size);
  // Of the credit that returns a slot: from its post at hop.destination until hop.source has it.
  Duration slot_return(const Hop& hop);
  // A reduction or a copy by a kernel of this rank that has nothing else to do, and nor has its
  // memory.
  Duration kernel(Rank rank, ReduceKind kind, Bytes size) const;
  // What MessageTime::arrived consists of.
  Trace message_parts(const Hop& hop, Bytes size) const;

 private:
  // Source GPU, relay, NICs, destination GPU; whether over a spine; size; and, where faults make
  // nodes differ, source and destination rank, else -1.
  using Key = std::tuple<int, int, int, int, int, bool, std::int64_t, Rank, Rank>;
  Key key_of(const Hop& hop, Bytes size) const;

  const Fabric& fabric_;
  int ranks_per_node_;
  Protocol protocol_;
  PostingCosts posting_;
  std::map<Key, MessageTime> messages_;
  std::map<Key, Duration> returns_;
};

}  // namespace gradhaul

#pragma once

// A collective as fluid flows: what is to be carried from rank to rank, in which order, and what
// each must wait for. A transfer is a whole chunk of the schedule, not its slices. Channels whose
// paths are the same everywhere are one group, and their chunks one transfer. All transfers of a
// group from one rank to another on the same stream of the schedule follow each other: a conveyor.
//
// A ring's chunks differ by one element at most; here they are equal, of their mean size.
//
// Pairwise exchanges send to one peer after the other, and turn to the next when the last slice for
// the one before has been posted. With more slices than slots that is some slots before the end, so
// there the last `slots` slices are a transfer of their own, and the next conveyor begins with it.
// In all schedules but rings and these, each chunk that is sent is a conveyor of one transfer.

#include <cstdint>
#include <vector>

#include "core/placement.h"
#include "core/prediction_request.h"
#include "sim/hop_latency.h"

namespace gradhaul {

// What is carried is counted in 1024ths of a byte, so that a mean need not be rounded to bytes.
inline constexpr std::int64_t kFlowUnitsPerByte = 1024;

// Transfer i needs transfer i - behind of that conveyor.
struct FlowInput {
  std::int32_t conveyor = 0;
  std::int32_t behind = 0;
};

struct Conveyor {
  Hop hop;
  std::int32_t group = 0;
  std::int64_t transfers = 1;
  std::int64_t units = 0;       // of a transfer
  std::int64_t last_units = 0;  // of the last
  std::vector<FlowInput> inputs;
  std::int32_t after = -1;    // begins when that conveyor begins its last transfer
  std::int32_t follows = -1;  // begins when that conveyor, on the same connection, has ended
  Bytes chunk;                // of one channel
  // Of its first slice, between idle ends: from its post until the receiver has taken it in,
  // its kernel's operations included. Of that the kernel; and by how much the next one is there
  // later for the links' sake.
  Bytes slice;
  std::int64_t channels = 1;  // of the group
  ReduceKind kind = ReduceKind::kCopy;
  std::int64_t operations = 1;
  Duration first;
  Duration kernel;
  Duration spacing;
  // A transfer's first slice takes the slot of the first one so many transfers before, or of one
  // little after that; 0: a transfer has more slices than there are slots. A slot is free again so
  // long after what it held was taken in.
  std::int64_t window = 0;
  Duration slot_return;
  // From post to post in the same slot, all slices of a channel's chunk together.
  Duration round_trips;

  std::int64_t units_of(std::int64_t transfer) const {
    return transfer + 1 < transfers ? units : last_units;
  }
  std::int64_t all_units() const { return units * (transfers - 1) + last_units; }
};

struct FlowPlan {
  std::vector<std::vector<int>> groups;  // channels, those without any data left out
  std::vector<Conveyor> conveyors;
  bool ring = false;  // all conveyors have as many transfers, and each waits for one other
};

// For `count` elements of a rank's message. Throws SimulationError where no path leads from one
// rank to another, or where there are more than kMostGroupedConnections
// (core/channel_groups.h).
FlowPlan make_flow_plan(const PredictionRequest& request, const Placement& placement,
                        std::int64_t count, HopLatency& latency);

}  // namespace gradhaul

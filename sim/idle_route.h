#pragma once

// A route that carries one flow and nothing else: when each of its packets starts on the first link
// and is there at the last, by the rules of sim/packet_engine.h written as recurrences: a packet
// starts at the latest of its readiness, the end of the one before and the return of its credits.
// To the picosecond what the packet engine does, except where PCIe credits run out within a train:
// there it may cut the train, and this waits until the train can go in one piece.

#include <cstdint>
#include <deque>
#include <vector>

#include "sim/fabric.h"

namespace gradhaul {

class IdleRoute {
 public:
  IdleRoute() = default;  // takes no time
  IdleRoute(const Fabric& fabric, const Route& route, TrafficClass traffic_class);

  struct Train {
    std::int64_t payload = 0;
    std::int64_t units = 1;  // where the unit is the whole packet: read requests may be several
    std::int64_t extra = 0;
  };
  struct Passage {
    std::int64_t first_start = 0;
    std::int64_t first_end = 0;  // off the first link
    std::int64_t last_start = 0;
    std::int64_t delivered = 0;
  };
  // Packets in order; `ready` at the first link is never before that of the one before.
  Passage pass(const Train& train, std::int64_t ready);
  // Credits that the last train took of the last link, where what follows the route lets go of them
  // and not the link itself: usable `time` plus the link's credit return.
  void keep_last_buffer() { keeps_last_buffer_ = true; }
  void release_last(std::int64_t time);

  bool empty() const { return stages_.empty(); }
  const Link* first() const { return stages_.front().link; }
  const Link* last() const { return stages_.back().link; }
  Duration latency() const;
  // The link that has been busy longest; none of an empty route.
  const Link* busiest() const;
  std::int64_t busiest_time() const;
  template <typename Visitor>
  void visit_latencies(Visitor visit) const {
    for (const Stage& stage : stages_) visit(stage.link->resource, stage.link->latency);
  }

 private:
  struct Credits {  // on their way back
    std::int64_t first;
    std::int64_t spacing;
    std::int64_t units;
  };
  struct Stage {
    const Link* link = nullptr;
    RouteHop form;
    bool next_is_slower = true;
    bool next_wants_whole = false;
    std::int64_t window = 0;  // 0: not guarded
    std::int64_t available = 0;
    std::deque<Credits> coming;
    std::int64_t free = 0;
    SerialisationCarry carry;
    std::int64_t busy = 0;
    std::int64_t taken = 0;  // by the last train
  };
  static std::int64_t units_of(const Stage& stage, const Train& train);
  static Bytes wire_bytes(const Stage& stage, const Train& train);
  static std::int64_t take_credits(Stage& stage, const Train& train, std::int64_t start);
  void give_back(Stage& stage, std::int64_t next_start, std::int64_t next_serialisation) const;

  std::vector<Stage> stages_;
  bool keeps_last_buffer_ = false;
};

}  // namespace gradhaul

#pragma once

// Puts together what the parts of a simulated run tell of it: engines know which slice of the
// schedule is posted, the transport when it leaves and lands, kernels when they work, links what
// they serve. Whoever asked (core/run_observer.h) hears of whole slices.

#include <cstdint>
#include <memory>
#include <vector>

#include "core/engine_observer.h"
#include "core/reducer.h"
#include "core/run_observer.h"
#include "sim/packet_engine.h"
#include "sim/packet_observer.h"
#include "sim/slice_places.h"

namespace gradhaul {

class RunObservation final : public PacketObserver {
 public:
  // `layout` is of the row; its links are those of the engine's fabric. All outlive it.
  RunObservation(RunObserver& observer, RunLayout layout, const Schedule& schedule,
                 PacketEngine& engine);
  ~RunObservation();
  RunObservation(const RunObservation&) = delete;
  RunObservation& operator=(const RunObservation&) = delete;

  bool watches(LinkId link) const { return watched_[static_cast<std::size_t>(link)]; }

  // What the rank's engine tells; `ends`: its connections.
  EngineObserver& of(Rank rank, const std::vector<ConnectionEnd>& ends);

  // Of a data message, by its number: which a new one may have once the old one is done.
  void on_posted(Rank rank, std::int32_t message, const ConnectionKey& connection, Bytes bytes);
  void on_left(std::int32_t message);
  void on_landed(std::int32_t message, std::int64_t delivered);
  void on_arrived(std::int32_t message);
  void on_done(std::int32_t message);
  void on_operation(Rank rank, const ReduceRequest& request, Bytes bytes, std::int64_t start,
                    std::int64_t end);
  // The row is over, or interrupted.
  void end(bool finished);

  void on_arrival(LinkId link, std::int64_t wire, std::int64_t now) override;
  void on_start(const PacketStart& start) override;
  void on_stall(LinkId link, std::int64_t since, std::int64_t until) override;
  void on_pause_frame(LinkId link, LinkId way, bool pause, std::int64_t now, std::int64_t start,
                      std::int64_t serialisation) override;
  void on_pause(LinkId link, bool paused, std::int64_t now) override;

 private:
  class RankObservation;
  struct Transfer {
    ObservedTransfer seen;
    bool arrived = false;
    bool done = false;
  };

  Transfer& transfer(std::int32_t message) { return transfers_[static_cast<std::size_t>(message)]; }
  void tell_when_over(std::int32_t message);

  RunObserver& observer_;
  PacketEngine& engine_;
  SlicePlaces places_;
  std::vector<std::unique_ptr<RankObservation>> ranks_;
  std::vector<bool> watched_;               // by link
  std::vector<Transfer> transfers_;         // by message
  std::vector<std::int64_t> paused_since_;  // by link; -1: it is not
};

}  // namespace gradhaul

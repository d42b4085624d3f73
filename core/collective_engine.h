#pragma once

// Runs one rank's part of a schedule against a Transport and a Reducer, knowing nothing of either.
// Passive and level-triggered: on_completion() moves one counter, then advance() posts whatever all
// guards allow, then one flush(). No allocation after construction; memory is O(peers).
//
// Counters belong to connections and lanes and are monotone; invariants are asserted on each
// change:
//   receiving end: consumed <= arrived <= granted <= slots + consumed
//   sending end:   written <= posted <= credits (starting at `slots`)

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <vector>

#include "core/completion.h"
#include "core/connection.h"
#include "core/engine_observer.h"
#include "core/engine_progress.h"
#include "core/reducer.h"
#include "core/schedule.h"
#include "core/transport.h"

namespace gradhaul {

struct EngineSettings {
  DataType datatype = DataType::kFp32;
  Reduction reduction = Reduction::kSum;
  int slots = 8;
  Bytes slot_size{512 * 1024};
};

class CollectiveEngine final : public CompletionSink {
 public:
  // The schedule outlives the engine. Finds this rank's connections by walking the schedule's
  // shape.
  CollectiveEngine(const Schedule& schedule, Rank rank, const EngineSettings& settings);
  ~CollectiveEngine();
  CollectiveEngine(const CollectiveEngine&) = delete;
  CollectiveEngine& operator=(const CollectiveEngine&) = delete;

  // In a fixed order; a ConnectionId is an index into it.
  const std::vector<ConnectionEnd>& connections() const;
  // Size of Region::kSlots.
  Bytes slots_bytes() const;

  // Before the start; outlives the engine.
  void observe(EngineObserver& observer);

  // Once, after the transport has been wired. Both outlive the engine. Posts what can be posted.
  void start(Transport& transport, Reducer& reducer);
  void on_completion(const Completion& completion) override;

  // Every item of every lane is done and written out: the collective is over for whoever waits for
  // its result, and its time is counted until here.
  bool complete() const;
  // And every credit is handed over: nothing of it is left in the transport.
  bool finished() const;
  CompletionStatus status() const;  // the first failure, or kOk
  Bytes bytes_sent() const;         // data writes posted so far
  // 0..1, for progress bars: finished items over all items.
  double progress() const;
  // The table of who waits for whom, for a run that stalled: every lane's and connection's
  // counters.
  void describe(std::ostream& out) const;

  // For simulators, which see the same happen over and over (core/engine_progress.h). What decides
  // about the future, apart from the place in the schedule, as numbers that are equal where it is:
  void append_state(std::vector<std::int64_t>& words) const;
  const EngineState& state() const;
  EngineProgress progress_mark() const;
  // As if what happened since `since` had happened so many times more. Nothing is posted.
  void repeat(const EngineProgress& since, std::int64_t times);

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace gradhaul

#pragma once

// One rank's part in one collective, from its start until nothing of it is under way: polls, and
// watches that there is progress, that the transport is well and that nobody has given up.

#include <chrono>
#include <optional>
#include <string>

#include "backends/endpoint.h"
#include "backends/measure/rank_memory.h"
#include "core/collective_engine.h"
#include "core/schedule.h"

namespace gradhaul {

struct CollectiveRunSettings {
  EngineSettings engine;
  std::chrono::nanoseconds timeout{};  // without any progress
  std::string what;                    // "all_reduce of 1024 bytes", for messages
};

class CollectiveRun {
 public:
  // All outlive it.
  CollectiveRun(const Schedule& schedule, const CollectiveRunSettings& settings, Exchange& exchange,
                Endpoint& endpoint, RankMemory& memory);

  // Ready to start: call it before ranks agree to, since it takes its time.
  void prepare();
  // Starts, and returns how long it took until this rank's result was complete. When it returns,
  // every credit has come back, so that the next run finds nothing of this one. Throws RankFailed,
  // OthersFailed.
  std::chrono::nanoseconds run();
  // By the last run.
  Bytes bytes_sent() const { return bytes_sent_; }

 private:
  using Clock = std::chrono::steady_clock;

  bool settled() const;
  void watch(Clock::time_point idle_since);
  [[noreturn]] void fail(Rank peer, const std::string& what) const;
  std::string progress_text() const;

  const Schedule& schedule_;
  const CollectiveRunSettings& settings_;
  Exchange& exchange_;
  Endpoint& endpoint_;
  RankMemory& memory_;
  std::optional<CollectiveEngine> engine_;
  Bytes bytes_sent_;
};

}  // namespace gradhaul

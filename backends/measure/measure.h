#pragma once

// Measures a workload on real ranks: this is one rank's part, and all run it at once. For each size
// and each half (out of place, in place where the collective can be) it joins the connections,
// warms up, times iterations, and runs once more with other data to count what comes out wrong.

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "backends/measure/endpoint_maker.h"
#include "backends/measure/iteration_series.h"
#include "backends/measure/rank_memory.h"
#include "core/calibration.h"
#include "core/cluster.h"
#include "core/communication.h"
#include "core/pair_time.h"
#include "core/prediction_request.h"
#include "core/result.h"
#include "core/ring_time.h"
#include "core/workload.h"

namespace gradhaul {

struct MeasureRequest {
  Cluster cluster;  // says who sits where; nothing of it is built
  Workload workload;
  Communication communication;
  // Where plans were chosen: for each size of the workload its own; empty: `communication` for all.
  std::vector<Communication> chosen;
  // The rungs below the collective too (core/ladder.h); takes several nodes.
  bool ladder = false;
  // Instead of the collective, writes between all pairs of nodes, into `pair_times` where there is
  // such a place (backends/measure/measure_pairs.h).
  std::optional<PairSettings> pairs;
  std::vector<PairTime>* pair_times = nullptr;
  // After the pairs, rings of more and more nodes (backends/measure/measure_rings.h).
  std::vector<RingSettings> rings;
  std::vector<Duration>* ring_times = nullptr;
  // Instead of it, microbenchmarks (backends/measure/calibrate.h), into `calibrated`.
  std::optional<CalibrationSettings> calibration;
  Calibration* calibrated = nullptr;
  SeriesSettings series;               // of each half of a row
  std::chrono::nanoseconds timeout{};  // without any progress
  ProgressSink* progress = nullptr;    // of this rank
  const std::atomic<bool>* interrupted = nullptr;
};

// Over how many streams the data of a connection is dealt: sockets where the scenario goes by TCP,
// else queue pairs, for which sockets stand where RDMA's scenario is measured by them.
inline int streams_of(const Communication& communication) {
  return communication.tcp ? communication.tcp->sockets : communication.queue_pairs;
}

// Host memory beside a GPU's, and what joins that: what the transport gives without the GPU. One
// endpoint lives at a time, of these makers and the rank's own together.
struct HostSide {
  EndpointMaker& endpoints;
  RankMemory& memory;
};

// What a rank holds for a run. All outlive it.
struct RankResources {
  Exchange& exchange;
  EndpointMaker& endpoints;
  RankMemory& memory;
  std::optional<HostSide> host{};  // where a GPU has the rank's data; for a ladder alone
};

// The same rows on every rank, but for what a rank that failed did not hear of any more. Never
// throws for what happens in the world: that stands in Measurement::failures, and the rows that
// were finished are there. `backend` and `cost` are for the caller to fill in.
Measurement measure(const MeasureRequest& request, const RankResources& rank);

// What somebody knows of the cause who saw more than the ranks: they are all victims of it.
void put_cause_first(std::string cause, std::vector<std::string>& failures);

}  // namespace gradhaul

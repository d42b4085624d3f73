#pragma once

// The longest chain of transfers that must follow each other in a collective, with every link and
// kernel idle when it comes: what the collective takes at least, however fast its links' sum is.
// Of each chain the first slice is followed from its source to its last receiver, hop by hop with
// its kernel's time at each (sim/hop_latency.h); the full slices behind it follow at the pace of
// the chain's slowest stage. So with k full slices of a chunk, hops h of the chain and the slice
// time X_h, kernel time R_h and pace s_h of each
//
//   L = sum over h (X_h + R_h) + (k - 1) max over h (s_h, R_h)
//
//   ring                 2 (N - 1) hops from where a chunk starts: N - 1 reductions, N - 1 copies
//   double binary tree   up from a leaf, a reduction for each child on the way, and down to a leaf
//   reduce_scatter, all_gather   N - 1 hops of it
//   pairwise exchanges   one hop and a copy
//   all others           found by playing the schedule (sim/played_chain.h)
//
// Every stage serves a chunk's slices one at a time and in order, so no run is faster than L.

#include <cstdint>
#include <vector>

#include "core/placement.h"
#include "core/prediction_request.h"
#include "core/schedule.h"
#include "sim/hop_latency.h"

namespace gradhaul {

// One hop and what the receiver's kernel does of one slice then.
struct ChainStep {
  Hop hop;
  ReduceKind kind = ReduceKind::kCopy;
  std::int64_t operations = 1;  // a kernel takes in its children one after the other
};

struct CollectiveChain {
  std::vector<ChainStep> steps;
  Bytes slice;  // the first of the chunk
  std::int64_t slices = 1;
  std::int64_t full_slices = 1;
  Duration pace;
  Duration total;   // L
  Duration likely;  // with what the rest of the chunk takes at the same pace
};

// The longest chain over all channels. `chunks` as chunk_schedule() makes it.
CollectiveChain longest_chain(const PredictionRequest& request, const Placement& placement,
                              const Schedule& chunks, HopLatency& latency);

}  // namespace gradhaul

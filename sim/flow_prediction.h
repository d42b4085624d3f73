#pragma once

// Fidelity `flow`: SimGrid's fluid max-min solver over the same fabric, placement and schedule as
// the packet model, with whole chunks for packets; for clusters of thousands of GPUs.
//
// What differs from the packet model, with the terms of sim/analytic_bracket.h:
//
//   slices    nothing, as long as stages serve them in order and at a constant pace: the dates are
//             those of the first and the last slice (sim/flow_progress.h). Chunks are taken to be
//             full slices and equal: off by less than one slice's serving in all.
//   latency   nothing: a slice's way is the packet model's own between idle ends
//             (sim/hop_latency.h); counted from post to taken in, kernel included.
//   framing   nothing in sum: every link is occupied exactly as long as its counted bytes take it
//             (sim/flow_paths.h).
//   control   acknowledgements and credits take their share of a link all the time instead of
//             standing before data now and then: within min(B, L) / 32.
//   threads   turns that communication threads take for several channels are no flows: the time is
//             that of the flows, or of all turns of the thread with most to do where that is longer
//   queues    flows that meet share evenly and at once; slices queue: w where links carry several
//             connections, and h where heads of line hold up others. And what starts with a first
//             slice starts too early here, if that one waits: in a ring by q, one slice of every
//             other connection at each hop of the chain (FlowPaths::queueing).
//
// So a packet run lies between lower and max(upper, L + q + min(B, L) / 32) of the bracket, and
// this one is off by no more than its distance to the farther of both: the error bound. Where every
// link carries one connection w = h = q = 0, and that is f + min(B, L) / 32 at most.
//
// Where links are shared the bound is wide, but the difference small as long as a link is either
// busy all the time or seldom: tests/sim/flow_test.cpp keeps shared uplinks and oversubscribed
// spines within 5 %. In between, where the slices of one-slice chunks meet at each step (B near L),
// rings take a fifth longer than this says, and more; so do all-to-alls, whose packets queue where
// many send to one.

#include "core/prediction_request.h"
#include "core/result.h"

namespace gradhaul {

// The topology is sized (core/topology_size.h). error_bound is the largest over all rows. Throws
// SimulationError where no path leads from one rank to another, or where there are too many pairs
// of ranks (sim/flow_plan.h).
Prediction predict_flows(const PredictionRequest& request);

}  // namespace gradhaul

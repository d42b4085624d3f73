#pragma once

// algbw and busbw as nccl-tests defines them (its doc/PERFORMANCE.md): algbw = size / time; busbw
// scales it by what an ideal algorithm must move, so that it compares with the links.

#include "core/quantities.h"
#include "core/workload.h"

namespace gradhaul {

// busbw / algbw for `ranks` ranks: all_reduce 2(n-1)/n; reduce_scatter, all_gather, all_to_all
// (n-1)/n; broadcast and send_recv 1.
double busbw_factor(Collective collective, int ranks);

// Bytes a second; 0 where time is 0.
double algbw(Bytes size, Duration time);
double busbw(Collective collective, int ranks, Bytes size, Duration time);

}  // namespace gradhaul

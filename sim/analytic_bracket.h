#pragma once

// Between which times a collective takes, in closed form, and the best guess in between. All from
// the moment its kernels run; the launch comes on top.
//
//   B   load: the least time of the busiest resource                   (sim/resource_load.h)
//   L   chain: the longest chain of slices that follow each other      (sim/collective_chain.h)
//   Z   slots: what the slots of a connection let through              (sim/slot_bound.h)
//   T   threads: the turns of the communication thread with most to do (sim/resource_load.h); t of
//       them for data
//
//   lower = max(B, L, Z, t)        no run is faster
//   idle  = max(B + f, L, Z, T)    with f what a slice takes before and after it is on the busiest
//                                  resource, X + R less its time there: the resource idles while
//                                  its first slice comes and its last one goes on; L with what is
//                                  left of a chunk beside full slices
//   upper = idle + w + h + c + min(B, L) / 32
//                                  the last for what acknowledgements and credits delay on the
//                                  wires that they share with data
//
// w is for slices that wait for those of other connections. On a link that carries n connections a
// slice may find the first burst of all the others before it, one slice of each or as many as there
// are slots; and where B and L are alike, queues last. So for a ring
//
//   w = min(B, L, (n - 1) burst t + (1 - 1/n) min(B, L) / 8)
//
// with t the time of a slice there; it is 0 where every link carries one connection. For the trees,
// whose up and down streams meet in the kernels, for all other schedules, and for rings that share
// PCIe beyond single switches, or cores that send and receive (TCP), w = min(B, L): no more than
// all of either. Where pairs of ends meet on a network link, and kernels are at least half as busy,
// K, one of them waits for the link first and for its kernel then: w = min(B, max(L, K)), as where
// they meet on two such links in turn. All-to-all, where many send to one at a time, may need all
// of B again: w = B + min(B, L). And where turns of threads take time, those of other channels, and
// what follows messages, may come first at each step: min(T - t / channels, L) more. Of a
// broadcast, whose channels send their first slices side by side, w is (n - 1) t at each hop of the
// chain, if that is more.
//
// h is for what stands behind another head of line: where data goes over the uplinks of PCIe
// switches and a PCIe link carries that of different pairs of ends, or where lossless network links
// of which each carries others beside pass data on to each other, a queue that cannot go on holds
// up others. With two inputs a first-in-first-out switch carries 3/4 of its links (Karol, Hluchyj,
// Morgan, "Input versus output queueing on a space-division packet switch", IEEE Trans. Commun. 35,
// 1987), so the shared link with most to do, P, may need 4/3 P: h = max(0, 4/3 P - idle), else
// 0.
//
// c is for what waits for cores, by TCP: min(B, L) where a connection has its cores for itself, for
// aggregates of which a core does one after the other; B where it has not, since slots, too, are
// given back by a core that has something else to do first.
//
// lower holds where slots take their time to come back (in nodes on an ideal network they take
// none). Nothing is proven of upper: that packet runs of rings keep below it is what
// tests/sim/analytic_test.cpp shows for its grid. Neither counts credits by whole packets, which
// buffers of few packets feel, nor waits for the sender's last acknowledgement. The guess is
// idle + w / 8 + h / 2.

#include <algorithm>
#include <cstdint>

#include "sim/collective_chain.h"
#include "sim/hop_latency.h"
#include "sim/resource_load.h"
#include "sim/slot_bound.h"

namespace gradhaul {

enum class AnalyticLimit : std::uint8_t { kLoad, kChain, kSlots, kThreads };

struct AnalyticBracket {
  Duration load;                               // B
  Duration chain;                              // L
  Duration slots;                              // Z
  Duration threads;                            // T
  AnalyticLimit limit = AnalyticLimit::kLoad;  // of idle
  ResourceId busiest = kNoResource;
  bool shares_pcie = false;  // beyond the switches of NICs and their GPUs
  bool meets_twice = false;  // ends that meet others on one network link, and on the next one
  Duration lower;
  Duration estimate;
  Duration upper;

  // How far the estimate may be off.
  Duration error() const { return std::max(estimate - lower, upper - estimate); }
};

AnalyticBracket bracket_of(const PredictionRequest& request, const ResourceLoad& load,
                           const CollectiveChain& chain, const SlotBound& slots,
                           HopLatency& latency);

}  // namespace gradhaul

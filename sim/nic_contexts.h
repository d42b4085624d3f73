#pragma once

// What a NIC knows of queue pairs and of registered memory lies in host memory; it keeps what it
// used last. A work request, or a write that comes in, whose queue pair or memory region it does
// not hold, waits for a read over PCIe (`context_fetch`), and a NIC makes one of these at a time
// [Kalia et al., "Design guidelines for high performance RDMA systems", USENIX ATC 2016; Dragojevic
// et al., "FaRM", NSDI 2014]. Of round robin over more than it holds, each misses.
//
// Not looked up again: for acknowledgements, and for the packets of a message after its first.

#include <algorithm>
#include <cstdint>
#include <list>
#include <map>
#include <vector>

#include "core/cluster.h"
#include "sim/wiring.h"

namespace gradhaul {

// The least recently used goes. What nobody has used yet is there as long as there is room.
class ContextCache {
 public:
  explicit ContextCache(int capacity) : capacity_(static_cast<std::size_t>(capacity)) {}
  // Whether it was there; it is now.
  bool use(std::int32_t context);

 private:
  std::size_t capacity_;  // 0: there is room for all
  std::list<std::int32_t> recent_;
  std::map<std::int32_t, std::list<std::int32_t>::iterator> places_;
};

class NicContexts {
 public:
  explicit NicContexts(const NicModel& nic)
      : queue_pairs_(nic.queue_pair_cache),
        regions_(nic.memory_region_cache),
        fetch_(nic.context_fetch.ps) {}

  // When a request that comes at `now` can go on; a region below 0 is none.
  std::int64_t find(std::int64_t now, std::int32_t queue_pair, std::int32_t region);
  // When a packet that comes in at `now` can: after those before it.
  std::int64_t in_order(std::int64_t now) const { return std::max(now, receives_); }
  void receive_after(std::int64_t time) { receives_ = time; }
  std::int64_t misses() const { return misses_; }

 private:
  std::int64_t fetched(std::int64_t now);

  ContextCache queue_pairs_;
  ContextCache regions_;
  std::int64_t fetch_;
  std::int64_t fetches_ = 0;   // until when
  std::int64_t receives_ = 0;  // not before
  std::int64_t misses_ = 0;
};

// Whether some NIC may be asked for more than it holds; by TCP it is asked for none.
bool may_miss_contexts(const Wiring& wiring, const Cluster& cluster);

}  // namespace gradhaul

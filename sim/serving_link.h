#pragma once

// A link while a station (sim/stations.h) has it serve plain packets, one after the other.

#include <cstdint>

#include "sim/link_state.h"
#include "sim/plain_hop.h"

namespace gradhaul {

// What serving packets changes about a link, for as long as nobody else looks at that.
class ServingLink {
 public:
  explicit ServingLink(LinkState& link)
      : link_(&link),
        latency_(link.latency),
        free_(link.free),
        carry_(link.carry),
        busy_(link.busy_total),
        digest_(link.digest) {}
  ServingLink(const ServingLink&) = delete;
  ServingLink& operator=(const ServingLink&) = delete;
  ~ServingLink() {
    link_->free = free_;
    link_->carry = carry_;
    link_->busy_total = busy_;
    link_->digest.value = digest_.value;
    link_->digest.last_start = digest_.last_start;
  }

  std::int64_t latency() const { return latency_; }
  std::int64_t free() const { return free_; }
  std::int64_t last_start() const { return digest_.last_start; }
  // A packet from `start` on; for how long.
  [[gnu::always_inline]] std::int64_t serve(PlainHop& form, std::int64_t start) {
    const std::int64_t carry = form.remainder + (free_ == start ? carry_ : 0);
    const bool full = carry >= form.full_carry;
    const std::int64_t serialisation = form.time + (full ? 1 : 0);
    carry_ = carry - (full ? form.full_carry : 0);
    free_ = start + serialisation;
    busy_ += serialisation;
    if (start - digest_.last_start != form.after) {
      form.after = start - digest_.last_start;
      form.record = digest_.record(start, form.part);
    }
    digest_.fold(form.record);
    digest_.last_start = start;
    ++form.served;
    return serialisation;
  }

 private:
  LinkState* link_;
  std::int64_t latency_;
  std::int64_t free_;
  std::int64_t carry_;
  std::int64_t busy_;
  LinkDigest digest_;
};

}  // namespace gradhaul

#pragma once

// Before a wire of a station (sim/stations.h) that may have to wait for credits: when what is next
// may start, as far as it is known what comes back. What the far end's buffer holds leaves it by
// stations too; each has told of all that it starts before its clock, and credits are on their way
// back for some time after that. So a station goes on alone for as long as the credits that it has
// do, and waits for others to be brought on only when it runs out of them.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/growing_ring.h"
#include "sim/link_state.h"

namespace gradhaul {

class CreditGate {
 public:
  // A link without credits lets all pass.
  void guard(LinkState& link) {
    if (link.credits[kClass].guarded()) link_ = &link;
  }
  bool guards() const { return link_ != nullptr; }
  // The clock of a station by which packets leave the far end's buffer; fixed in its place.
  void add_output(const std::int64_t& clock) { outputs_.push_back(&clock); }
  // What must not be done, for the test that sees it.
  void stretch(int times) { stretched_ = times; }

  // When a packet may start that is first before the link and could, but for credits, at `due`;
  // times only ever grow. INT64_MAX: that depends on what is not known; see unknown_from().
  // `tells`: somebody is told what it waited for, and by then all must be known.
  [[gnu::always_inline]] std::int64_t start(std::int64_t due, std::int64_t units, bool tells) {
    if (link_ == nullptr) return due;
    if (link_->credits[kClass].available() >= units && (!tells || stalls_.empty())) return due;
    return start_later(due, units);
  }
  // Of the last start() that did not know: before then nothing starts.
  std::int64_t unknown_from() const { return unknown_from_; }
  // Stations behind have to have come so far that one knows what is back then.
  std::int64_t clock_to_know() const { return unknown_from_ - until_back() + 1; }

  // A packet that was ready at `ready` starts. What it waited for; kNoResource: for no credits.
  [[gnu::always_inline]] ResourceId take(std::int64_t ready, std::int64_t start,
                                         std::int64_t units) {
    if (link_ == nullptr) return kNoResource;
    while (!stalls_.empty() && stalls_.front().end <= ready) stalls_.pop();
    const ResourceId culprit = link_->stall_since < 0 ? kNoResource : end_stall(start);
    link_->credits[kClass].take(units);
    return culprit;
  }
  // How long the link has stood still since then, up to `now`.
  std::int64_t stalled(std::int64_t since, std::int64_t now) const {
    if (link_ == nullptr) return 0;
    std::int64_t total = 0;
    for (std::int64_t i = 0; i < stalls_.size(); ++i) {
      total += std::max<std::int64_t>(0, stalls_[i].end - std::max(stalls_[i].begin, since));
    }
    if (link_->stall_since < 0) return total;
    return total + std::max<std::int64_t>(0, now - std::max(link_->stall_since, since));
  }

 private:
  // All of a network, but for Ethernet's notifications.
  static constexpr int kClass = static_cast<int>(TrafficClass::kPosted);
  struct Stall {
    std::int64_t begin;
    std::int64_t end;
  };

  std::int64_t until_back() const { return link_->return_after_leaving * stretched_; }
  // Whether all is known that comes back at `time` or before.
  bool knows(std::int64_t time) {
    if (known_ <= time) look();
    return known_ > time;
  }
  void look() {
    std::int64_t told = INT64_MAX - until_back();
    for (const std::int64_t* clock : outputs_) told = std::min(told, *clock);
    known_ = told + until_back();
  }
  [[gnu::noinline]] std::int64_t start_later(std::int64_t due, std::int64_t units) {
    CreditReturns& credits = link_->credits[kClass];
    if (!knows(due)) {
      unknown_from_ = due;
      return INT64_MAX;
    }
    credits.absorb(due);
    if (credits.available() >= units) return due;
    if (link_->stall_since < 0) link_->stall_since = due;
    if (credits.known() >= units) {
      const std::int64_t back = credits.time_of(due, units);
      if (knows(back)) return back;
    } else {
      look();
    }
    unknown_from_ = known_;
    return INT64_MAX;
  }
  [[gnu::noinline]] ResourceId end_stall(std::int64_t start) {
    link_->credits[kClass].absorb(start);
    link_->stall_total += start - link_->stall_since;
    stalls_.push({link_->stall_since, start});
    link_->stall_since = -1;
    return link_->credits[kClass].culprit(start);
  }

  LinkState* link_ = nullptr;
  int stretched_ = 1;
  std::int64_t known_ = 0;  // before then, all that comes back
  std::int64_t unknown_from_ = 0;
  std::vector<const std::int64_t*> outputs_;
  GrowingRing<Stall> stalls_;  // that what waits may have seen
};

}  // namespace gradhaul

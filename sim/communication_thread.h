#pragma once

// The thread of the host that posts what a rank sends by NICs and handles its completions (NCCL's
// proxy): one thing at a time, in the order in which it comes to know of them. Only where it costs
// anything beside what the NIC's model says of each post and completion.

#include <algorithm>
#include <cstdint>

#include "core/communication.h"
#include "sim/state_words.h"
#include "sim/trace_parts.h"

namespace gradhaul {

struct ThreadCosts {
  Duration step;            // of each post and each completion
  Duration registration;    // before the first post; 0: memory is registered already
  Duration deregistration;  // of whoever has done that, once the rank is through
  bool sleeps = false;      // when it has nothing to do
  Duration wake_up;         // from an interrupt until it runs

  bool any() const { return step.ps > 0 || registration.ps > 0 || sleeps; }
};

// Of ranks that send and receive so much.
inline ThreadCosts thread_costs(const Communication& communication, Bytes size) {
  ThreadCosts costs;
  costs.step = communication.thread_step;
  if (communication.registering == Registering::kPerTransfer) {
    costs.registration = registration_time(communication.registration, size);
    costs.deregistration = deregistration_time(communication.registration, size);
  } else if (communication.registering == Registering::kCached) {
    costs.registration = communication.registration.hit;
  }
  costs.sleeps = communication.sleeps;
  costs.wake_up = communication.wake_up;
  return costs;
}

class CommunicationThread {
 public:
  CommunicationThread() = default;
  explicit CommunicationThread(const ThreadCosts& costs)
      : costs_(costs), registered_(costs.registration.ps == 0) {}
  const ThreadCosts& costs() const { return costs_; }

  // What it does next needs the message's memory registered.
  void ask_for_registration() { needs_registration_ = !registered_; }
  // Something to do at `now` that takes `work`: when it is done with what it costs here, and can
  // go on with the work, which keeps it busy. Adds what passes until then to `parts`.
  std::int64_t take(std::int64_t now, Duration work, Trace& parts) {
    std::int64_t begin = std::max(now, free_);
    const std::int64_t registering =
        std::clamp<std::int64_t>(registering_until_ - now, 0, begin - now);
    parts.add(kNoResource, Cause::kRegistration, registering);
    parts.add(kNoResource, Cause::kThread, begin - now - registering);
    if (costs_.sleeps && free_ < now) {
      parts.add(kNoResource, Cause::kWakeUp, costs_.wake_up.ps);
      begin += costs_.wake_up.ps;
    }
    const std::int64_t awake = std::max(now, free_);
    if (needs_registration_) {
      registered_ = true;
      needs_registration_ = false;
      parts.add(kNoResource, Cause::kRegistration, costs_.registration.ps);
      begin += costs_.registration.ps;
      registering_until_ = begin;
    }
    parts.add(kNoResource, Cause::kThread, costs_.step.ps);
    const std::int64_t end = begin + costs_.step.ps;
    free_ = end + work.ps;
    busy_ += free_ - awake;
    return end;
  }

  // The rank is through at `now`: how much later what it has registered no longer is.
  Duration release(std::int64_t now, Trace& parts) {
    if (costs_.deregistration.ps == 0 || !registered_) return {};
    const std::int64_t begin = std::max(now, free_);
    parts.add(kNoResource, Cause::kThread, begin - now);
    parts.add(kNoResource, Cause::kRegistration, costs_.deregistration.ps);
    busy_ += costs_.deregistration.ps;
    return {begin - now + costs_.deregistration.ps};
  }

  // How long it has had something to do by `now`.
  std::int64_t busy(std::int64_t now) const {
    return busy_ - std::max<std::int64_t>(0, free_ - now);
  }
  void add_busy(std::int64_t ps) { busy_ += ps; }

  void append_state(StateWords& words) const {
    words.add(registered_);
    words.add_due(free_ + 1);  // it sleeps once this is past
    words.add_due(registering_until_);
  }

 private:
  ThreadCosts costs_;
  bool registered_ = true;
  bool needs_registration_ = false;  // within one post
  std::int64_t free_ = -1;           // it sleeps at first
  std::int64_t registering_until_ = 0;
  std::int64_t busy_ = 0;
};

}  // namespace gradhaul

#pragma once

// What the time of one transfer went into, resource by resource and cause by cause: the pieces that
// blame (sim/blame.h) is made of. Kept for the last packet of each message only, since it decides
// when the message is there.

#include <array>
#include <cstdint>

#include "core/assert.h"
#include "sim/fabric.h"

namespace gradhaul {

enum class Cause : std::uint8_t {
  kBusy,          // waiting for, or being served by, a resource that serves as fast as it can
  kCredits,       // a link stood still for want of credits; the resource is the one that held them
  kPaused,        // the same for a link that was told to pause (PFC)
  kPaced,         // congestion control held the queue pair to a lower rate
  kReadTags,      // the NIC had as many reads outstanding as its tags or its buffer let it
  kLatency,       // propagation, forwarding, memory access
  kDoorbell,      // posting, doorbell, fetching the work request
  kCompletion,    // completion queue entry written, polled and handled
  kFlag,          // host and kernel telling each other
  kLaunch,        // the collective's kernel starts
  kSlots,         // the way back of a slot that the next write had to wait for
  kLateStart,     // another rank's program had reached the collective before
  kCompute,       // a computation
  kSlowed,        // its kernels had to share the GPU with those of collectives
  kResent,        // what was sent in vain after a packet was lost, until its sender was told so
  kAckTimeout,    // until the sender stopped waiting to be told
  kReordered,     // for what was overtaken on other ways of the network
  kStaging,       // starting a copy between GPU and host memory
  kThread,        // a communication thread works, or has something else to do first
  kWakeUp,        // an interrupt, until the thread runs
  kRegistration,  // memory is registered with the NIC
  kFlush,         // the receiver's NIC reads back what it has written
  kContext,       // a NIC fetches the context of a queue pair or of a memory region
  kQueuePair,     // one queue pair takes no more work requests a second
  kNotReady,      // the receiver had posted no receive
  kStorm,         // a link was told to pause by a NIC that nothing had filled up, or behind one
  kMistaken,      // as kResent, of what was only overtaken
};
inline constexpr int kCauses = 27;
const char* name_of(Cause cause);

struct TracePart {
  ResourceId resource = kNoResource;
  Cause cause = Cause::kBusy;
  std::int64_t ps = 0;
};

// Of one message on its way.
struct Trace {
  static constexpr int kMaxParts = 64;
  std::array<TracePart, kMaxParts> parts;
  int count = 0;
  std::int64_t stalled_at_arrival = 0;  // of the link the last packet waits for
  // Copies (sim/copies.h) from whoever posted the message to where its flow is counted from.
  int shift = 0;

  void add(ResourceId resource, Cause cause, std::int64_t ps) {
    if (ps == 0) return;
    for (int i = 0; i < count; ++i) {
      TracePart& part = parts[static_cast<std::size_t>(i)];
      if (part.resource == resource && part.cause == cause) {
        part.ps += ps;
        return;
      }
    }
    GRADHAUL_ASSERT(count < kMaxParts, "a transfer crosses few resources");
    parts[static_cast<std::size_t>(count++)] = {resource, cause, ps};
  }
  std::int64_t total() const {
    std::int64_t sum = 0;
    for (int i = 0; i < count; ++i) sum += parts[static_cast<std::size_t>(i)].ps;
    return sum;
  }
};

}  // namespace gradhaul

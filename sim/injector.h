#pragma once

// Puts the messages of a NIC's queue pairs on its wire, packet by packet, queue pairs in turn: asks
// for the payload of one packet at a time as long as transmit buffer and read tags allow. The same
// for a GPU that writes to its peers through PCIe, which has its payload at hand.

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "core/quantities.h"
#include "sim/finished_run.h"
#include "sim/packet_engine.h"

namespace gradhaul {

// What a GPU that writes to a peer through PCIe sends as one train, and how much of it may wait
// before its link: enough to keep the link busy, little enough to take turns.
inline constexpr std::int32_t kPeerTrain = 4096;
inline constexpr std::int64_t kPeerBuffer = 4 * kPeerTrain;
// The same where a device names no transmit buffer.
inline constexpr std::int64_t kUnboundedBufferPackets = 64;

// How often a post crosses between a thread's socket and its NIC's: the doorbell, the read of the
// work request, and what comes back.
inline constexpr int kDetoursOfPost = 3;

// Ports of a bonded NIC.
inline constexpr int kMostPorts = 2;

struct QueuePair {
  std::int32_t injector = kNone;
  int port = 0;               // of a bonded NIC, by which it sends
  std::int32_t head = kNone;  // messages
  std::int32_t tail = kNone;
  bool active = false;                    // among those of its injector that have something to send
  std::int64_t payload = 0;               // of all messages so far
  std::int64_t next_packet = 0;           // not before: its rate
  std::int64_t next_request = 0;          // not before: its work requests' rate, and their order
  int held = 0;                           // work requests that wait for it
  std::int64_t notified = INT64_MIN / 2;  // when its receiver last sent a notification
};

struct Injector {
  // Fixed.
  LinkId out = kNoLink;
  std::int32_t packet_payload = 4096;
  std::int32_t read_request = 4096;
  std::int64_t buffer = 0;       // payload asked for or held and not yet begun to be sent
  std::int64_t tags = 0;         // read requests outstanding; 0: no limit
  std::int64_t message_gap = 0;  // ps between the starts of two work requests
  std::int64_t transmit_latency = 0;
  LinkId second_out = kNoLink;  // of a bonded NIC: its other port
  // State.
  std::int64_t buffered = 0;
  std::array<std::int64_t, kMostPorts> port_buffered{};  // where there are two
  std::int64_t tags_used = 0;
  std::int64_t next_message = 0;
  std::int64_t wake = INT64_MAX;
  NotificationCounts notifications;
  bool wants_tags = false;
  struct TagReturn {
    std::int64_t time;
    std::int64_t tags;
  };
  std::deque<TagReturn> tag_returns;
  std::vector<std::int32_t> active;  // queue pairs with something to send, next in turn first

  std::int64_t requests(std::int64_t payload) const {
    return (payload + read_request - 1) / read_request;
  }
  // Tags that are free at `now`.
  std::int64_t free_tags(std::int64_t now) {
    while (!tag_returns.empty() && tag_returns.front().time <= now) {
      tags_used -= tag_returns.front().tags;
      tag_returns.pop_front();
    }
    return tags - tags_used;
  }
};

}  // namespace gradhaul

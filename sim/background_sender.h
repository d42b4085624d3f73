#pragma once

// Sends the messages of one background traffic, over connections of its own, until the run ends.
// Of each connection no more than kMostUnderWay messages are under way; where the network is slower
// than that, the next ones wait for their turn, and are counted as held back.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/task_result.h"
#include "core/transport.h"
#include "sim/background_traffic.h"
#include "sim/blame.h"
#include "sim/packet_transport.h"

namespace gradhaul {

class BackgroundSender {
 public:
  static constexpr int kMostUnderWay = 64;

  // References outlive it. Opens its ports.
  BackgroundSender(RunContext& context, PacketTransport& transport, const TrafficPlan& plan,
                   std::span<const WiredConnection> wired, std::uint64_t seed);

  // Of its ports, one for each NIC.
  Rank first_port() const { return first_port_; }
  int ports() const { return static_cast<int>(ends_.size()); }
  int sources() const { return static_cast<int>(plan_.sources.size()); }
  // When the source's next message begins.
  std::int64_t next_start(int source) const;
  // It begins.
  void begin_message(int source);
  void on_completion(Rank port, const Completion& completion);
  // Of all that was sent by `end`.
  BackgroundResult result(std::int64_t end) const;

 private:
  struct Pair {
    ConnectionId connection = 0;  // of the source's port
    std::int32_t waiting = 0;
    std::int64_t posted = 0;
    std::int64_t written = 0;  // and acknowledged
    std::int64_t arrived = 0;
    // Acknowledgements may be quicker than the memory there.
    std::int64_t complete() const { return std::min(written, arrived); }
    std::int64_t under_way() const { return posted - complete(); }
  };
  void post(std::size_t source, Pair& pair);

  RunContext& context_;
  PacketTransport& transport_;
  const TrafficPlan& plan_;
  std::uint64_t seed_;
  std::vector<std::vector<ConnectionEnd>> ends_;  // by NIC
  std::vector<std::vector<Pair>> pairs_;          // by source, as its destinations
  std::vector<std::vector<std::pair<std::int32_t, std::int32_t>>> pair_of_end_;  // by NIC and end
  std::vector<std::int64_t> counts_;  // messages begun, by source
  Rank first_port_ = 0;
  ChainId origin_ = kNone;
  std::int64_t begun_ = 0;
  std::int64_t complete_ = 0;
  std::int64_t held_back_ = 0;
};

}  // namespace gradhaul

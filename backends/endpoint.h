#pragma once

// One rank's end of a real transport, as its driver sees it: beyond the posts of core/transport.h
// it has to be polled, since nothing happens of itself. It is made for the connections of one
// engine, over registered memory; queue pairs or sockets may be kept from one to the next.

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/bootstrap/exchange.h"
#include "core/transport.h"

namespace gradhaul {

class Endpoint : public Transport {
 public:
  virtual ~Endpoint() = default;

  // Delivers what has completed meanwhile, as the contract of core/transport.h orders it. Whether
  // there was anything. Never blocks.
  virtual bool poll(CompletionSink& sink) = 0;

  // Before a run, on all ranks before any of them writes: nothing is under way, and the next write
  // of each connection goes into its first slot.
  virtual void restart() {}

  // Gives the core away until poll() may have something to deliver, but not for longer than this.
  // Returns at once where that cannot be told; whoever calls it then just goes on polling.
  virtual void wait(std::chrono::microseconds /*most*/) {}

  // What was seen first, once a completion has come with a status: which peer, what it means here,
  // what to check. A connection on which nothing was under way may break without any completion;
  // so the driver asks when nothing has come for a while.
  virtual std::optional<RankFailure> failure() const = 0;

  // For the `engine` of a measured result: {"device", "mlx5_0"}, {"mtu", "4096"}, ….
  virtual std::vector<std::pair<std::string, std::string>> facts() const = 0;
};

}  // namespace gradhaul

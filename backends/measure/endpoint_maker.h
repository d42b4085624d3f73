#pragma once

// How the driver of a measurement gets its endpoints: one for each half of each row, since another
// size may need other connections. Devices, listeners and sockets live in the maker, so that they
// outlast an endpoint.

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backends/cpu/host_memory.h"
#include "backends/endpoint.h"
#include "backends/measure/measured_counters.h"
#include "core/connection.h"

namespace gradhaul {

struct EndpointRequest {
  std::vector<ConnectionEnd> connections;  // as CollectiveEngine::connections() has them
  // Of this rank; outlives the endpoint. Addresses of a GPU where that is where the ranks' data is.
  HostMemory memory;
  int slots = 8;  // of each connection
  Bytes slot_size;
  int queue_pairs = 1;
};

class EndpointMaker {
 public:
  virtual ~EndpointMaker() = default;

  // Joins this rank's connections to their peers'; all ranks call it at the same point. At most one
  // endpoint of a maker lives at a time, and nothing is on its way when it goes. Throws
  // ExchangeError.
  virtual std::unique_ptr<Endpoint> make(const EndpointRequest& request) = 0;

  // What it takes to make memory of this rank known to the device that reaches it. Nothing where
  // none has to. After the first make(). Throws ExchangeError.
  virtual std::optional<std::chrono::nanoseconds> time_registration(
      std::span<std::byte> /*memory*/) {
    return std::nullopt;
  }

  // What the ports that this rank's connections go by have counted so far, by port and name
  // ("mlx5_0:1/port_xmit_data", 1000); nothing where there are no such ports. After a make().
  virtual CountedAtPorts port_counts() { return {}; }
};

}  // namespace gradhaul

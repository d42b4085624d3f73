#pragma once

// The transport between threads of one process under test; here one thread drives all its ends.

#include <thread>
#include <vector>

#include "backends/bootstrap/thread_exchange.h"
#include "backends/loopback/memory_endpoint.h"
#include "tests/conformance/endpoint_world.h"

namespace gradhaul::conformance {

class MemoryWorld final : public EndpointWorld {
 public:
  explicit MemoryWorld(const WorldShape& shape)
      : EndpointWorld(shape, 1), group_(shape.ranks(), std::chrono::seconds(60)) {
    endpoints_.resize(shape.connections.size());
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < endpoints_.size(); ++rank) {
      threads.emplace_back([this, rank] {
        ThreadExchange exchange(group_, static_cast<Rank>(rank));
        endpoints_[rank] = MemoryEndpointMaker(place_, exchange).make(request(rank));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

 private:
  bool may_come() override { return false; }

  ThreadGroup group_;
  MemoryMeetingPlace place_;
};

class MemoryHarness final : public TransportHarness {
 public:
  std::unique_ptr<ConformanceWorld> make_world(const WorldShape& shape,
                                               std::uint64_t /*seed*/) const override {
    return std::make_unique<MemoryWorld>(shape);
  }
};

}  // namespace gradhaul::conformance

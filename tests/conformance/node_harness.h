#pragma once

// Ranks of nodes under test: two to a node, which share memory, and between nodes the transport of
// threads in the network's place. One thread drives all ends.

#include <thread>
#include <vector>

#include "backends/bootstrap/thread_exchange.h"
#include "backends/loopback/memory_endpoint.h"
#include "backends/shared/node_endpoint_maker.h"
#include "tests/conformance/endpoint_world.h"

namespace gradhaul::conformance {

class NodeWorld final : public EndpointWorld {
 public:
  NodeWorld(const WorldShape& shape, int ranks_per_node)
      : EndpointWorld(shape, 1, true), group_(shape.ranks(), std::chrono::seconds(60)) {
    endpoints_.resize(shape.connections.size());
    ranks_.resize(shape.connections.size());
    std::vector<int> node_of;
    for (Rank rank = 0; rank < shape.ranks(); ++rank) node_of.push_back(rank / ranks_per_node);
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < endpoints_.size(); ++rank) {
      threads.emplace_back([this, rank, &node_of] {
        ranks_[rank] =
            std::make_unique<RankMakers>(group_, place_, static_cast<Rank>(rank), node_of);
        endpoints_[rank] = ranks_[rank]->node.make(request(rank));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  ~NodeWorld() override { endpoints_.clear(); }
  NodeWorld(const NodeWorld&) = delete;
  NodeWorld& operator=(const NodeWorld&) = delete;

 private:
  // They own what endpoints write through.
  struct RankMakers {
    RankMakers(ThreadGroup& group, MemoryMeetingPlace& place, Rank rank,
               const std::vector<int>& node_of)
        : exchange(group, rank), network(place, exchange), node(exchange, network, node_of) {}
    ThreadExchange exchange;
    MemoryEndpointMaker network;
    NodeEndpointMaker node;
  };
  bool may_come() override { return false; }

  ThreadGroup group_;
  MemoryMeetingPlace place_;
  std::vector<std::unique_ptr<RankMakers>> ranks_;
};

// All ranks in one node, or two in each, by the seed.
class NodeHarness final : public TransportHarness {
 public:
  std::unique_ptr<ConformanceWorld> make_world(const WorldShape& shape,
                                               std::uint64_t seed) const override {
    return std::make_unique<NodeWorld>(shape, seed % 2 == 0 ? 2 : shape.ranks());
  }
  std::uint64_t one_case_in() const override { return 7; }
};

}  // namespace gradhaul::conformance

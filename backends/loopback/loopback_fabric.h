#pragma once

// A Transport and a CpuReducer for each of several ranks in one process, over real memory, wired by
// the keys of their connections. Nothing happens of itself: what is posted and flushed becomes
// deliverable, and the driver delivers one completion after the other, in any order that the
// contract of core/transport.h allows.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backends/cpu/cpu_reducer.h"
#include "backends/cpu/host_memory.h"
#include "backends/loopback/delivery_order.h"
#include "backends/loopback/loopback_connection.h"
#include "core/connection.h"
#include "core/reducer.h"
#include "core/transport.h"

namespace gradhaul {

struct LoopbackRank {
  std::vector<ConnectionEnd> connections;
  HostMemory memory;  // outlives the fabric
};

struct LoopbackSlots {
  int count = 1;  // of each connection
  Bytes size;
};

class LoopbackFabric {
 public:
  // Each connection has both its ends.
  LoopbackFabric(std::vector<LoopbackRank> ranks, LoopbackSlots slots,
                 const LoopbackSettings& settings);
  ~LoopbackFabric();
  LoopbackFabric(const LoopbackFabric&) = delete;
  LoopbackFabric& operator=(const LoopbackFabric&) = delete;

  Transport& transport(Rank rank);
  Reducer& reducer(Rank rank);

  // What can be delivered now, in the order of the posts.
  std::span<const Deliverable> deliverable() const { return agenda_.deliverable(); }
  // One of them, to the sink of its rank.
  void deliver(std::size_t index, std::span<CompletionSink* const> sinks);

  // Data write `ordinal`, counted from 0, of this connection fails: its completions and all later
  // ones at each end have a status.
  void fail_write(const ConnectionKey& key, std::int64_t ordinal);

 private:
  class RankTransport;
  class RankReducer;
  struct Joint {
    ConnectionKey key;
    std::unique_ptr<LoopbackConnection> connection;
  };
  void join_connections(LoopbackSlots slots);
  LoopbackConnection& connection(Rank rank, ConnectionId id);

  std::vector<LoopbackRank> ranks_;
  LoopbackSettings settings_;
  DeliveryAgenda agenda_;
  std::vector<Joint> joints_;                              // by key
  std::vector<std::vector<LoopbackConnection*>> of_rank_;  // by rank and ConnectionId
  std::vector<std::unique_ptr<RankTransport>> transports_;
  std::vector<std::unique_ptr<RankReducer>> reducers_;
};

}  // namespace gradhaul

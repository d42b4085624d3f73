#include "backends/loopback/loopback_fabric.h"

#include <algorithm>

#include "core/assert.h"

namespace gradhaul {

class LoopbackFabric::RankTransport final : public Transport {
 public:
  RankTransport(const LoopbackRank& rank, const std::vector<LoopbackConnection*>& connections,
                const TransportLimits& limits)
      : rank_(rank), connections_(connections), limits_(limits) {}

  TransportLimits limits() const override { return limits_; }

  void post_write(const WriteRequest& request) override {
    const auto id = static_cast<std::size_t>(request.connection);
    GRADHAUL_ASSERT(request.connection >= 0 && id < connections_.size(), "no such connection");
    const bool data = request.kind == WriteKind::kData;
    GRADHAUL_ASSERT(rank_.connections[id].sends == data,
                    "data leaves the sending end, credits the receiving end");
    if (data) {
      connections_[id]->post_data(bytes_at(rank_.memory, request.source, request.length),
                                  request.slot);
    } else {
      connections_[id]->post_credit(request.slots_returned);
    }
    staged_.push_back(request.connection);
  }

  void flush() override {
    for (const ConnectionId id : staged_) {
      LoopbackConnection& connection = *connections_[static_cast<std::size_t>(id)];
      if (rank_.connections[static_cast<std::size_t>(id)].sends) {
        connection.flush_data();
      } else {
        connection.flush_credits();
      }
    }
    staged_.clear();
  }

 private:
  const LoopbackRank& rank_;
  const std::vector<LoopbackConnection*>& connections_;
  TransportLimits limits_;
  std::vector<ConnectionId> staged_;
};

class LoopbackFabric::RankReducer final : public Reducer {
 public:
  RankReducer(Rank rank, const HostMemory& memory, DeliveryAgenda& agenda)
      : rank_(rank), reducer_(memory), agenda_(agenda) {}

  void post_reduce(const ReduceRequest& request) override {
    reducer_.post_reduce(request);
    const auto stream = static_cast<std::size_t>(request.stream);
    while (queues_.size() <= stream) {
      queues_.push_back(agenda_.add_queue(rank_, CompletionKind::kReduceDone,
                                          static_cast<std::int32_t>(queues_.size())));
    }
    agenda_.post(queues_[stream]);
  }

  void deliver(std::int32_t stream, CompletionSink& sink) {
    reducer_.complete_oldest(stream, sink);
  }

 private:
  Rank rank_;
  CpuReducer reducer_;
  DeliveryAgenda& agenda_;
  std::vector<std::int32_t> queues_;  // by stream
};

LoopbackFabric::LoopbackFabric(std::vector<LoopbackRank> ranks, LoopbackSlots slots,
                               const LoopbackSettings& settings)
    : ranks_(std::move(ranks)), settings_(settings), of_rank_(ranks_.size()) {
  join_connections(slots);
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    transports_.push_back(
        std::make_unique<RankTransport>(ranks_[rank], of_rank_[rank], settings.limits));
    reducers_.push_back(
        std::make_unique<RankReducer>(static_cast<Rank>(rank), ranks_[rank].memory, agenda_));
  }
}

LoopbackFabric::~LoopbackFabric() = default;

// Both ends of a key come next to each other when the ends of all ranks are sorted.
void LoopbackFabric::join_connections(LoopbackSlots slots) {
  struct End {
    ConnectionEnd end;
    LoopbackConnection::End place;
  };
  std::vector<End> ends;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    const std::vector<ConnectionEnd>& connections = ranks_[rank].connections;
    of_rank_[rank].resize(connections.size());
    for (std::size_t id = 0; id < connections.size(); ++id) {
      ends.push_back({connections[id], {static_cast<Rank>(rank), static_cast<ConnectionId>(id)}});
    }
  }
  std::ranges::sort(ends, {}, [](const End& e) { return std::pair(e.end.key, !e.end.sends); });
  GRADHAUL_ASSERT(ends.size() % 2 == 0, "every connection has two ends");
  for (std::size_t i = 0; i < ends.size(); i += 2) {
    const End& sender = ends[i];
    const End& receiver = ends[i + 1];
    GRADHAUL_ASSERT(sender.end.key == receiver.end.key, "every connection has two ends");
    GRADHAUL_ASSERT(sender.end.sends && !receiver.end.sends, "one end sends, the other receives");
    GRADHAUL_ASSERT(sender.place.rank == sender.end.key.source &&
                        receiver.place.rank == receiver.end.key.destination,
                    "an end belongs to the rank that its key names");
    const HostMemory& memory = ranks_[static_cast<std::size_t>(receiver.place.rank)].memory;
    const BufferRef where{Region::kSlots, receiver.end.slots_offset};
    const LoopbackConnection::Wiring wiring{sender.place, receiver.place,
                                            bytes_at(memory, where, slots.size * slots.count),
                                            slots.count};
    joints_.push_back(
        {sender.end.key, std::make_unique<LoopbackConnection>(wiring, settings_, agenda_)});
    for (const LoopbackConnection::End& place : {sender.place, receiver.place}) {
      of_rank_[static_cast<std::size_t>(place.rank)][static_cast<std::size_t>(place.id)] =
          joints_.back().connection.get();
    }
  }
}

Transport& LoopbackFabric::transport(Rank rank) {
  return *transports_[static_cast<std::size_t>(rank)];
}

Reducer& LoopbackFabric::reducer(Rank rank) { return *reducers_[static_cast<std::size_t>(rank)]; }

LoopbackConnection& LoopbackFabric::connection(Rank rank, ConnectionId id) {
  return *of_rank_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(id)];
}

void LoopbackFabric::deliver(std::size_t index, std::span<CompletionSink* const> sinks) {
  const Deliverable due = agenda_.take(index);
  CompletionSink& sink = *sinks[static_cast<std::size_t>(due.rank)];
  if (due.kind == CompletionKind::kReduceDone) {
    reducers_[static_cast<std::size_t>(due.rank)]->deliver(due.id, sink);
  } else {
    sink.on_completion(connection(due.rank, due.id).deliver(due.kind));
  }
}

void LoopbackFabric::fail_write(const ConnectionKey& key, std::int64_t ordinal) {
  const auto joint = std::ranges::find(joints_, key, &Joint::key);
  GRADHAUL_ASSERT(joint != joints_.end(), "no such connection");
  joint->connection->fail_write(ordinal);
}

}  // namespace gradhaul

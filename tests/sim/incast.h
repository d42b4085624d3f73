#pragma once

// Several ranks that write to others all at once: what a lossless network has to hold up.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/sim/transport_world.h"

namespace gradhaul::examples {

struct IncastStream {
  Rank source = 0;
  Rank destination = 0;
  Bytes length{512 * 1024};
  int writes = 1;
  std::int64_t start = 0;  // ps
};

class Incast {
 public:
  Incast(const Cluster& cluster, const std::vector<IncastStream>& streams)
      : streams_(streams), world_(cluster, communication(streams), ends(cluster, streams), 1) {
    for (const IncastStream& stream : streams_) {
      // Each rank sends by one stream alone, which is its first connection.
      world_.at(stream.start, [this, &stream] { post_all(stream); });
    }
    for (Rank rank = 0; rank < cluster.ranks(); ++rank) world_.connect(rank, sink_);
  }

  // To the end, or until `limit` (ps).
  void run(std::int64_t limit = INT64_MAX) {
    while (world_.now() < limit && world_.step()) {
    }
  }
  const TransportWorld& world() const { return world_; }
  std::int64_t last_arrival() const { return last_arrival_; }
  int arrivals() const { return arrivals_; }
  LinkId link(const std::string& name) const {
    const std::vector<Link>& links = world_.fabric().links();
    for (std::size_t i = 0; i < links.size(); ++i) {
      if (links[i].name == name) return static_cast<LinkId>(i);
    }
    return kNoLink;
  }

 private:
  struct Sink final : CompletionSink {
    explicit Sink(Incast& all) : incast(all) {}
    void on_completion(const Completion& completion) override {
      if (completion.kind != CompletionKind::kWriteArrived) return;
      incast.last_arrival_ = incast.world_.now();
      ++incast.arrivals_;
    }
    Incast& incast;
  };

  static Communication communication(const std::vector<IncastStream>& streams) {
    Communication communication;
    communication.channels = 1;
    for (const IncastStream& stream : streams) {
      communication.slots = std::max(communication.slots, stream.writes);
      communication.slot_size = std::max(communication.slot_size, stream.length);
    }
    return communication;
  }
  static std::vector<std::vector<ConnectionEnd>> ends(const Cluster& cluster,
                                                      const std::vector<IncastStream>& streams) {
    std::vector<std::vector<ConnectionEnd>> ends(static_cast<std::size_t>(cluster.ranks()));
    for (const bool sends : {true, false}) {
      for (const IncastStream& stream : streams) {
        const ConnectionKey key{0, stream.source, stream.destination, 0};
        const Rank at = sends ? stream.source : stream.destination;
        ends[static_cast<std::size_t>(at)].push_back({key, sends, {}});
      }
    }
    return ends;
  }
  void post_all(const IncastStream& stream) {
    for (int i = 0; i < stream.writes; ++i) {
      WriteRequest request;
      request.length = stream.length;
      request.slot = i;
      world_.transport(stream.source).post_write(request);
    }
    world_.transport(stream.source).flush();
  }

  std::vector<IncastStream> streams_;
  TransportWorld world_;
  Sink sink_{*this};
  std::int64_t last_arrival_ = 0;
  int arrivals_ = 0;
};

}  // namespace gradhaul::examples

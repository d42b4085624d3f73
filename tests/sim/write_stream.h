#pragma once

// Writes over one connection, one way, as fast as the transport takes them: when each has arrived,
// and when each was done.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/sim/transport_world.h"

namespace gradhaul::examples {

struct StreamPlan {
  Bytes length{512 * 1024};
  int writes = 1;
  int queue_pairs = 1;
  std::int64_t start = 0;  // ps
  // Where packets may be lost:
  int timeout = 20;
  std::uint64_t seed = 1;
  GpuDirect gpudirect = GpuDirect::kOn;
  Communication threads = {};  // how they work; all else is as above
};

class WriteStream {
 public:
  // From the first rank of the cluster to the last one.
  WriteStream(const Cluster& cluster, const StreamPlan& plan)
      : plan_(plan),
        world_(cluster, communication(plan), ends(cluster), 1, plan.seed),
        sender_(*this),
        receiver_(*this) {
    world_.connect(0, sender_);
    world_.connect(cluster.ranks() - 1, receiver_);
    world_.at(plan.start, [this] { post_all(); });
    while (world_.step()) {
    }
  }

  const std::vector<std::int64_t>& arrived() const { return arrived_; }
  const std::vector<std::int64_t>& done() const { return done_; }
  const TransportWorld& world() const { return world_; }

 private:
  struct End final : CompletionSink {
    explicit End(WriteStream& all) : stream(all) {}
    void on_completion(const Completion& completion) override { stream.on_completion(completion); }
    WriteStream& stream;
  };

  static Communication communication(const StreamPlan& plan) {
    Communication communication = plan.threads;
    communication.channels = 1;
    communication.slots = std::max(1, plan.writes);
    communication.slot_size = plan.length;
    communication.queue_pairs = plan.queue_pairs;
    communication.timeout = plan.timeout;
    communication.gpudirect = plan.gpudirect;
    return communication;
  }
  static std::vector<std::vector<ConnectionEnd>> ends(const Cluster& cluster) {
    const ConnectionKey key{0, 0, cluster.ranks() - 1, 0};
    std::vector<std::vector<ConnectionEnd>> ends(static_cast<std::size_t>(cluster.ranks()));
    ends.front().push_back({key, true, {}});
    ends.back().push_back({key, false, {}});
    return ends;
  }

  void post_all() {
    for (int i = 0; i < plan_.writes; ++i) {
      WriteRequest request;
      request.length = plan_.length;
      request.slot = i;
      world_.transport(0).post_write(request);
    }
    world_.transport(0).flush();
  }
  void on_completion(const Completion& completion) {
    const bool arrival = completion.kind == CompletionKind::kWriteArrived;
    (arrival ? arrived_ : done_).push_back(world_.now());
  }

  StreamPlan plan_;
  TransportWorld world_;
  End sender_;
  End receiver_;
  std::vector<std::int64_t> arrived_;
  std::vector<std::int64_t> done_;
};

// Bytes a second between the ends of two writes of a stream: what fills and drains counts in
// neither. Where a window is used in bursts, whole bursts must lie between.
enum class StreamEnd { kArrived, kDone };
inline double steady_rate(const Cluster& cluster, Bytes length, int fewer, int more,
                          StreamEnd end = StreamEnd::kArrived) {
  const WriteStream stream(cluster, {.length = length, .writes = more});
  const std::vector<std::int64_t>& times =
      end == StreamEnd::kArrived ? stream.arrived() : stream.done();
  const std::int64_t ps =
      times.at(static_cast<std::size_t>(more - 1)) - times.at(static_cast<std::size_t>(fewer - 1));
  return static_cast<double>(length.count) * (more - fewer) / static_cast<double>(ps) * 1e12;
}

}  // namespace gradhaul::examples

#pragma once

// Cores of hosts that carry TCP: each sends or receives one aggregate after the other, in the order
// in which it was asked to. What a core copies passes its socket's memory twice, read and written;
// it is through when both its own time and that are over.

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "core/tcp_settings.h"
#include "sim/packet.h"

namespace gradhaul {

// What a core copies as one train through its socket's memory: little, so that devices that use it
// too need not wait long; and how often that passes it: read, and written.
inline constexpr std::int32_t kCopiedAtOnce = 8192;
inline constexpr std::int32_t kCopyPasses = 2;

struct CoreJob {
  std::int32_t message = kNone;
  std::int32_t bytes = 0;
  std::int32_t socket = 0;  // of the connection
  bool receiving = false;
};

class HostCores {
 public:
  HostCores(const TcpSettings& settings, Bytes packet_payload, int gpus)
      : settings_(settings),
        packet_payload_(packet_payload),
        cores_(static_cast<std::size_t>(gpus * settings.cores)) {}

  const TcpSettings& settings() const { return settings_; }
  std::int32_t aggregate() const {
    return static_cast<std::int32_t>(tcp_aggregate(packet_payload_).count);
  }
  // Of a socket of a rank's: they are dealt over its cores.
  std::int32_t core_of(std::int32_t gpu, std::int32_t socket) const {
    return gpu * settings_.cores + socket % settings_.cores;
  }
  // Nothing to do; at work on something.
  bool idle(std::int32_t core) const { return at(core).jobs.empty(); }
  bool working(std::int32_t core) const { return at(core).pending > 0; }
  void add(std::int32_t core, const CoreJob& job) { at(core).jobs.push_back(job); }
  const CoreJob& job(std::int32_t core) const { return at(core).jobs.front(); }
  // Begins with the first job, which copies or not; when its own time is over.
  std::int64_t begin(std::int32_t core, bool copies, std::int64_t now) {
    Core& beginning = at(core);
    const CoreJob& job = beginning.jobs.front();
    beginning.pending = copies ? 2 : 1;
    beginning.since = now;
    return now + tcp_work(settings_, packet_payload_, {job.bytes}, job.receiving).ps;
  }
  // Its copy has passed, or the core's own time is over; the job, where that was all.
  std::optional<CoreJob> finish_part(std::int32_t core, std::int64_t now) {
    Core& working = at(core);
    if (--working.pending > 0) return std::nullopt;
    const CoreJob job = working.jobs.front();
    working.jobs.pop_front();
    working.busy += now - working.since;
    working.bytes += job.bytes;
    return job;
  }
  struct Use {
    std::int64_t busy = 0;   // ps, of all cores of a rank
    std::int64_t first = 0;  // of that of the first of them
    std::int64_t bytes = 0;
  };
  Use use(std::int32_t gpu) const {
    Use use;
    for (int i = 0; i < settings_.cores; ++i) {
      const Core& core = at(gpu * settings_.cores + i);
      use.busy += core.busy;
      use.bytes += core.bytes;
      if (i == 0) use.first = core.busy;
    }
    return use;
  }

 private:
  struct Core {
    std::deque<CoreJob> jobs;  // the one that is worked at first
    int pending = 0;           // parts of that
    std::int64_t since = 0;
    std::int64_t busy = 0;
    std::int64_t bytes = 0;
  };
  Core& at(std::int32_t core) { return cores_[static_cast<std::size_t>(core)]; }
  const Core& at(std::int32_t core) const { return cores_[static_cast<std::size_t>(core)]; }

  TcpSettings settings_;
  Bytes packet_payload_;
  std::vector<Core> cores_;  // by GPU of the cluster
};

// Of one direction of a connection: the sockets over which its messages are dealt, aggregate by
// aggregate, in turn among those that are free.
struct TcpSockets {
  std::deque<std::int32_t> messages;  // not all dealt, in the order of their posts
  std::vector<bool> sending;          // by socket
  std::int32_t turn = 0;
  std::int32_t receiving = 0;  // the socket whose turn it is at the far end

  // A free one, which is taken; kNone: all are busy.
  std::int32_t take_socket() {
    const auto sockets = static_cast<std::int32_t>(sending.size());
    for (std::int32_t i = 0; i < sockets; ++i) {
      const std::int32_t socket = (turn + i) % sockets;
      if (sending[static_cast<std::size_t>(socket)]) continue;
      sending[static_cast<std::size_t>(socket)] = true;
      turn = (socket + 1) % sockets;
      return socket;
    }
    return kNone;
  }
};

}  // namespace gradhaul

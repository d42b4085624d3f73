#pragma once

// The Endpoint over RDMA verbs: reliable connections, whose immediates and completions become the
// completions of core/transport.h. It polls the completion queues of the rails it uses, and from
// time to time looks for asynchronous events and for writes that are overdue.
//
// Doorbells: flush() rings what is staged; called from inside a delivery it waits for the end of
// that poll, so that what several completions brought about goes out together.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/verbs/connection_record.h"
#include "backends/verbs/read_back.h"
#include "backends/verbs/verbs_backend.h"
#include "backends/verbs/verbs_connection.h"

namespace gradhaul {

class VerbsEndpoint final : public Endpoint {
 public:
  // Joins this rank to its peers. See VerbsBackend::make_endpoint().
  VerbsEndpoint(VerbsLibrary& verbs, const std::vector<RdmaRail>& rails,
                const VerbsSettings& settings, const VerbsWiring& wiring, Exchange& exchange);
  ~VerbsEndpoint();
  VerbsEndpoint(const VerbsEndpoint&) = delete;
  VerbsEndpoint& operator=(const VerbsEndpoint&) = delete;

  TransportLimits limits() const override { return limits_; }
  void post_write(const WriteRequest& request) override;
  void flush() override;

  bool poll(CompletionSink& sink) override;
  std::optional<RankFailure> failure() const override { return failure_; }
  std::vector<std::pair<std::string, std::string>> facts() const override;

  // Sleeps as CompletionMode says. The first call that would sleep only asks to be woken, and wants
  // another poll() before the next, or what came in between would be slept over.
  void wait(std::chrono::microseconds most) override;

  // What was rung, signalled and posted by all queue pairs so far.
  struct Doorbells {
    std::int64_t rings = 0;
    std::int64_t signalled = 0;
    std::int64_t posted = 0;
  };
  Doorbells doorbells() const;
  // "mlx5_0 port 1 (10.0.0.1) to mlx5_1 port 1 (10.0.0.2), MTU 4096"
  const std::string& path(ConnectionId id) const {
    return wires_[static_cast<std::size_t>(id)].path;
  }
  const VerbsConnection& connection(ConnectionId id) const {
    return connections_[static_cast<std::size_t>(id)];
  }

 private:
  using Clock = std::chrono::steady_clock;

  // A rail that connections use, and what was made on it for this endpoint.
  struct UsedRail {
    const RdmaRail* rail = nullptr;
    std::vector<MemoryRegion> memory;  // by Region; kInput is empty where it is kOutput's
    bool relaxed = false;
    CompletionChannel channel;
    std::vector<CompletionQueue> queues;
    int room = 0;  // entries of the last queue that no queue pair has claimed
    // Where arrivals are read back: one read for all that has arrived as it begins.
    std::optional<ReadBack> read_back;
    std::vector<ConnectionId> held;  // have arrivals that no read covers
    struct Covered {
      ConnectionId connection = 0;
      std::int64_t writes = 0;
    };
    std::vector<Covered> covered;  // by the read that is under way
  };
  struct Place {
    ConnectionId connection = 0;
    std::size_t queue_pair = 0;
  };
  // What is known of a connection apart from its traffic.
  struct Wire {
    std::size_t rail = 0;  // into used_
    std::string path;      // "mlx5_0 port 1 (10.0.0.1) to mlx5_1 port 1 (10.0.0.2), MTU 4096"
    ibv_mtu mtu = IBV_MTU_256;
    std::int64_t done_before = 0;
    Clock::time_point since;
    bool touched = false;
    bool staged = false;
    bool held = false;  // is in its rail's list
  };

  void open(const VerbsWiring& wiring);
  void check_immediate() const;
  std::size_t use_rail(int nic);
  void register_regions(UsedRail& used, const VerbsWiring& wiring);
  ibv_cq* completion_queue(UsedRail& used, int entries);
  void open_connection(const VerbsWiring& wiring, std::size_t id);
  VerbsConnection::OpenedQueuePair open_queue_pair(UsedRail& used, int sends, int receives);
  ConnectionRecord record_of_this_rank(const VerbsWiring& wiring) const;
  void join(Exchange& exchange, const VerbsWiring& wiring);
  void join_connection(ConnectionId id, const ConnectionRecord& peer, const EndRecord& end);
  static const ibv_mr* region_of(const UsedRail& used, Region region);

  void touch(ConnectionId id);
  void ring_staged();
  void handle(const ibv_wc& completion);
  void fail(ConnectionId id, const std::string& what, bool is_cause);
  void fail_rail(const UsedRail& used, const std::string& what);
  std::string failure_text(const Place& place, const ibv_wc& completion) const;
  void look_around();
  void hold(ConnectionId id);
  void read_back_held(UsedRail& used);
  void release_covered(UsedRail& used);
  bool reading_back() const;
  void read_events(UsedRail& used);
  void handle_event(UsedRail& used, const ibv_async_event& event);
  void find_overdue(Clock::time_point now);

  VerbsLibrary& verbs_;
  const std::vector<RdmaRail>& rails_;
  VerbsSettings settings_;
  Rank rank_;
  HostMemory memory_;
  int slots_;
  Bytes slot_size_;
  DeviceReach reach_;
  bool of_device_;   // the memory is a GPU's
  bool reads_back_;  // what arrives, before it is delivered
  FlushTimes* flush_times_;
  std::string thread_;  // where it runs, in words
  TransportLimits limits_;
  std::vector<UsedRail> used_;
  std::vector<VerbsConnection> connections_;  // by ConnectionId; end before the queues they use
  std::vector<Wire> wires_;
  std::vector<Place> places_;          // by the middle of wr_id
  std::vector<ConnectionId> touched_;  // have something to deliver
  std::vector<ConnectionId> due_;      // of these, what this poll() delivers
  std::vector<ConnectionId> staged_;
  bool polling_ = false;
  bool armed_ = false;
  bool idle_ = false;  // since the last delivery, wait() was called
  Clock::time_point idle_since_;
  int polls_until_look_ = 0;
  Clock::time_point last_look_;
  std::vector<std::string> events_;  // seen, that are no failure by themselves
  std::optional<RankFailure> failure_;
  bool cause_known_ = false;  // failure_ is more than a flush
};

}  // namespace gradhaul

#pragma once

// One collective in the packet model: the ranks' engines on the simulated transport and reducer
// over one fabric, and what is read off it when all ranks are done. Steps by itself; who drives it
// (SimGrid, a test) says when each rank starts and how far to run. Where ranks are copies of others
// (sim/symmetry.h), only those others are simulated; what is asked of a copy is theirs.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/collective_engine.h"
#include "core/placement.h"
#include "core/prediction_request.h"
#include "core/result.h"
#include "sim/finished_run.h"
#include "sim/kernel_reducer.h"
#include "sim/packet_observers.h"
#include "sim/packet_transport.h"
#include "sim/recurrence.h"
#include "sim/run_context.h"
#include "sim/world_plan.h"

namespace gradhaul {

class PacketWorld final : public FinishedRun, private Endpoints, private CompletionRouter {
 public:
  // `count` elements of a rank's message. References outlive the world. Throws SimulationError.
  PacketWorld(const PredictionRequest& request, const Fabric& fabric, const Placement& placement,
              std::int64_t count, Starts starts = Starts::kTogether);
  ~PacketWorld();
  PacketWorld(const PacketWorld&) = delete;
  PacketWorld& operator=(const PacketWorld&) = delete;

  Rank ranks() const { return plan_.schedule->ranks(); }
  // Of each rank that is simulated, how many there are like it, itself included.
  int copies() const { return plan_.symmetry.copies().count(); }
  // Time since the start, skipped periods included.
  std::int64_t now() const { return engine_.elapsed(); }
  // The rank's program reaches the collective at `time`; its kernel runs one launch later.
  void start_rank(Rank rank, std::int64_t time);
  // Up to `limit` or some number of events, or until ranks complete.
  PacketEngine::Pause run(std::int64_t limit, std::int64_t budget);
  // Those that have since the last call.
  std::vector<Rank> take_completed();
  bool complete() const { return incomplete_ == 0; }
  // Whether stations step a part of it: then running may throw EventsNeeded (sim/credit_watch.h).
  bool by_stations() const { return engine_.by_stations(); }
  // What must not be done, for the test that sees it: windows so much longer than is right.
  void stretch_windows(int times) { engine_.stretch_windows(times); }
  // 0..1: the least advanced of a few ranks.
  double progress() const;
  // Everyone waits and nothing will happen: the table of who waits for whom.
  [[noreturn]] void report_stall() const;

  // When complete:
  std::int64_t completion_time(Rank rank) const {
    return completion_times_[static_cast<std::size_t>(plan_.symmetry.home(rank))];
  }
  std::int64_t end() const override;
  const LinkState& link(LinkId link) const override {
    return engine_.state(plan_.symmetry.home_link(link));
  }
  std::int64_t busy(LinkId link) const override;
  std::int64_t stalled(LinkId link) const override;
  LosslessBuffers::Totals pauses(LinkId link) const override {
    return engine_.pauses(plan_.symmetry.home_link(link));
  }
  NotificationCounts notifications(int node, int nic) const override {
    return transport_->notifications(node, nic);
  }
  LinkLosses::Totals losses(LinkId link) const override { return engine_.losses().totals(link); }
  RecoveryCounts recovery(int node, int nic) const override {
    return transport_->recovery(node, nic);
  }
  std::int64_t context_misses(int node, int nic) const override {
    return transport_->context_misses(node, nic);
  }
  GpuUse gpu_use(int node, int gpu) const override;
  // Cores that the communication threads of the busiest node have work for, on average.
  double busy_cores() const;
  // The same of TCP, where the first core of each rank polls, and so is never idle.
  double tcp_cores() const;
  std::uint64_t digest() const;
  std::int64_t bytes_sent(Rank rank) const;
  const PacketEngine& engine() const { return engine_; }
  const PacketTransport& transport() const { return *transport_; }
  const Wiring& wiring() const { return plan_.wiring; }
  const Fabric& fabric() const override { return fabric_; }
  int channels() const { return plan_.schedule->channels(); }
  // Of the rank that was last; of several, the lowest.
  std::vector<TracePart> critical_path() const override;
  // Whoever looks on hears of the end: complete, or interrupted.
  void end_observation();
  // What the simulator checks of itself at the end: nothing lost, nothing faster than its rate.
  void check() const;

 private:
  void on_first_start(const Packet& packet, std::int64_t now) override;
  void on_delivery(const Packet& packet, std::int64_t delivered) override;
  void on_loss(const Packet& packet, LinkId link) override;
  void on_event(std::uint32_t kind, std::int32_t index) override;
  void append_event(StateWords& words, std::uint32_t kind, std::int32_t index) const override;
  void deliver(Rank rank, const Completion& completion, CauseChain& cause) override;
  PacketEngine::Pause run_engine(std::int64_t limit, std::int64_t budget);
  void observe(std::int64_t count);
  void observe_run(RunObserver& observer, Bytes size);
  void observe_ports(PortObserver& observer);
  void begin(Rank rank);
  void note_completion(Rank rank, CauseChain& cause);
  void complete(Rank rank, ChainId chain);
  CollectiveEngine& engine_of(Rank rank) { return *engines_[slot(rank)]; }
  std::size_t slot(Rank rank) const {
    return static_cast<std::size_t>(slots_[static_cast<std::size_t>(rank)]);
  }

  const PredictionRequest& request_;
  const Fabric& fabric_;
  WorldPlan plan_;
  PacketEngine engine_;
  Blame blame_;
  RunContext context_;
  MemoryPorts memory_;
  PacketObservers observers_;
  std::unique_ptr<RunObservation> observation_;
  std::unique_ptr<PortObservation> ports_;
  std::unique_ptr<PacketTransport> transport_;
  std::unique_ptr<KernelReducer> kernels_;
  std::vector<std::unique_ptr<CollectiveEngine>> engines_;  // of the simulated ranks
  std::vector<int> slots_;                                  // by rank, into engines_
  std::optional<Recurrence> recurrence_;
  // Of ranks that have not begun: what their peers have already written to them.
  std::vector<std::vector<Completion>> early_;
  std::vector<bool> begun_;
  std::vector<std::int64_t> start_times_;
  std::optional<std::int64_t> common_start_;
  std::vector<ChainId> releasing_;  // by rank: through, and taking back what it registered
  std::vector<std::int64_t> completion_times_;
  std::vector<Rank> newly_completed_;
  Rank not_begun_ = 0;
  Rank incomplete_ = 0;
  Rank last_rank_ = 0;
  ChainId last_chain_ = kNone;
};

}  // namespace gradhaul

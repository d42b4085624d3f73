#pragma once

// Several collectives, computations and background traffic in one packet model, as a task graph
// (core/task_graph.h) has them follow each other. Collectives of one communicator run over the same
// queue pairs, with receive slots of their own, so that one can begin while the last credits of the
// one before are still on their way. Engines and slots are there from the moment that the first
// rank begins until nothing of the collective is on its way any more.

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "core/collective_engine.h"
#include "core/task_result.h"
#include "sim/background_sender.h"
#include "sim/compute_units.h"
#include "sim/finished_run.h"
#include "sim/kernel_reducer.h"
#include "sim/packet_transport.h"
#include "sim/running_collective.h"
#include "sim/task_order.h"
#include "sim/task_plan.h"

namespace gradhaul {

class TaskWorld final : public FinishedRun, private Endpoints, private CompletionRouter {
 public:
  // References outlive the world. Throws SimulationError.
  TaskWorld(const PredictionRequest& request, const Fabric& fabric, const TaskGraph& graph);
  ~TaskWorld();
  TaskWorld(const TaskWorld&) = delete;
  TaskWorld& operator=(const TaskWorld&) = delete;

  // So many events more, or to the end of the last task. Throws SimulationError where the run
  // stalls.
  void run(std::int64_t budget);
  bool complete() const { return order_.incomplete() == 0; }
  double progress() const;  // 0..1

  // When complete:
  const TaskGraph& graph() const { return graph_; }
  const TaskPlan& plan() const { return plan_; }
  const TaskOrder& order() const { return order_; }
  std::int64_t start_time(int member) const { return at(start_times_, member); }
  std::int64_t completion_time(int member) const { return at(completion_times_, member); }
  const MemberPath& path(int member) const { return paths_[static_cast<std::size_t>(member)]; }
  // Of a collective, the row of the result.
  const ResultRow& row(int task) const { return rows_[static_cast<std::size_t>(task)]; }
  std::uint64_t digest() const;
  // Payload posted on each connection of the plan's wiring.
  const std::vector<std::int64_t>& payloads() const { return payloads_; }
  const PacketTransport& transport() const { return transport_; }
  const PacketEngine& engine() const { return engine_; }
  BackgroundResult background(std::size_t traffic) const {
    return senders_[traffic]->result(end());
  }
  // Members on the path that decided about the end, in the order of time, each the last of its task
  // to be complete on the path.
  std::vector<int> critical_members() const;

  const Fabric& fabric() const override { return fabric_; }
  std::int64_t end() const override;
  const LinkState& link(LinkId link) const override { return engine_.state(link); }
  std::int64_t busy(LinkId link) const override { return busy_until(link, end()); }
  std::int64_t stalled(LinkId link) const override { return engine_.stall_elapsed(link); }
  LosslessBuffers::Totals pauses(LinkId link) const override { return engine_.pauses(link); }
  NotificationCounts notifications(int node, int nic) const override {
    return transport_.notifications(node, nic);
  }
  LinkLosses::Totals losses(LinkId link) const override { return engine_.losses().totals(link); }
  RecoveryCounts recovery(int node, int nic) const override {
    return transport_.recovery(node, nic);
  }
  std::int64_t context_misses(int node, int nic) const override {
    return transport_.context_misses(node, nic);
  }
  GpuUse gpu_use(int node, int gpu) const override;
  std::vector<TracePart> critical_path() const override;

 private:
  using Running = std::list<RunningCollective>::iterator;
  struct Owner {  // of a port
    enum class Kind : std::uint8_t { kNobody, kCollective, kBackground };
    Kind kind = Kind::kNobody;
    Running collective;
    Rank rank = 0;
    std::size_t traffic = 0;
  };
  static std::int64_t at(const std::vector<std::int64_t>& times, int member) {
    return times[static_cast<std::size_t>(member)];
  }

  void on_first_start(const Packet& packet, std::int64_t now) override;
  void on_delivery(const Packet& packet, std::int64_t delivered) override;
  void on_loss(const Packet& packet, LinkId link) override;
  void on_event(std::uint32_t kind, std::int32_t index) override;
  void deliver(Rank port, const Completion& completion, CauseChain& cause) override;

  const Task& task_of(int member) const {
    return graph_.tasks[static_cast<std::size_t>(order_.task(member))];
  }
  const TaskWiring& wiring_of(int task) const {
    const int wiring = plan_.wiring_of_task[static_cast<std::size_t>(task)];
    return plan_.wirings[static_cast<std::size_t>(wiring)];
  }
  PacketEngine::Pause run_engine(std::int64_t budget);
  void add_background();
  void schedule_starts(const std::vector<TaskOrder::Ready>& ready);
  void begin(int member);
  Duration launch_of(const Task& task) const;
  Duration work_of(int member) const;  // a computation's
  void begin_computation(int member);
  void begin_collective(int member);
  Running running(int task);
  void open(Running collective);
  void close_idle();
  void close(Running collective);
  void account(const RunningCollective& collective);
  void note_completion(Running collective, Rank rank, CauseChain& cause);
  void end_rank(Running collective, int member);
  void end_computation(int member);
  void end_member(int member);
  void end_collective(const RunningCollective& collective);
  std::int64_t busy_until(LinkId link, std::int64_t time) const;
  [[noreturn]] void report_stall() const;

  const PredictionRequest& request_;
  const Fabric& fabric_;
  const TaskGraph& graph_;
  TaskPlan plan_;
  TaskOrder order_;
  PacketEngine engine_;
  Blame blame_;
  RunContext context_;
  MemoryPorts memory_;
  PacketTransport transport_;
  KernelReducer kernels_;
  ComputeUnits compute_;
  std::list<RunningCollective> running_;
  std::vector<Running> complete_;  // of which something may still be on its way
  std::vector<Owner> owners_;      // by port
  std::vector<std::unique_ptr<BackgroundSender>> senders_;
  std::vector<std::int64_t> start_times_;
  std::vector<std::int64_t> completion_times_;
  std::vector<MemberPath> paths_;
  std::vector<ResultRow> rows_;  // by task
  std::vector<GpuUse> gpu_uses_;
  std::vector<std::int64_t> payloads_;
  std::vector<TaskOrder::Ready> ready_;
  int last_member_ = 0;             // to be complete
  std::int64_t last_delivery_ = 0;  // to a collective
};

}  // namespace gradhaul

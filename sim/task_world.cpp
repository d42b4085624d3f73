#include "sim/task_world.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

#include "core/asked_row.h"
#include "core/packet_loss.h"
#include "core/receive_queue.h"
#include "sim/path_report.h"
#include "sim/retry_failure.h"
#include "sim/world_report.h"

namespace gradhaul {
namespace {

// Background traffic goes on whether or not anybody else does: for so long without anything coming
// to a collective that is under way, nothing will. Nothing that is simulated takes nearly as long.
constexpr std::int64_t kStalledFor = 1'000'000'000'000;  // 1 s

// Or, where packets may be lost, queue pairs that wait for their acknowledgements.
std::int64_t stalled_for(const Fabric& fabric, const TaskGraph& graph) {
  std::int64_t longest = 0;
  for (const Communicator& of : graph.communicators) {
    if (may_lack_receives(of.communication, fabric.cluster())) {
      std::int64_t late = rnr_timer(of.communication.rnr_timer).ps;
      for (const LateReceives& fault : fabric.cluster().faults.late_receives) {
        late = std::max(late, fault.by.ps + rnr_timer(of.communication.rnr_timer).ps);
      }
      longest = std::max(longest, late);
    }
    if (!numbers_packets(fabric.cluster()) || of.communication.timeout == 0) continue;
    longest =
        std::max(longest, (of.communication.retry + 2) * ack_timeout(of.communication.timeout));
  }
  return kStalledFor + longest;
}

}  // namespace

TaskWorld::TaskWorld(const PredictionRequest& request, const Fabric& fabric, const TaskGraph& graph)
    : request_(request),
      fabric_(fabric),
      graph_(graph),
      plan_(plan_tasks(request, fabric, graph)),
      order_(graph),
      engine_(fabric, *this),
      context_{fabric, engine_, blame_, *this},
      memory_(fabric.cluster().nodes * fabric.cluster().node.gpu_count,
              fabric.cluster().node.gpu.memory_bandwidth),
      transport_(context_, memory_),
      kernels_(context_, memory_),
      compute_(engine_, fabric.cluster().nodes * fabric.cluster().node.gpu_count,
               graph.multiprocessors),
      rows_(graph.tasks.size()),
      gpu_uses_(static_cast<std::size_t>(fabric.cluster().nodes * fabric.cluster().node.gpu_count)),
      payloads_(plan_.wiring.connections.size(), 0) {
  for (std::size_t i = 0; i < fabric.links().size(); ++i) {
    const LinkId way = fabric.links()[i].pause.reverse;
    if (way != kNoLink) engine_.send_pauses_by(static_cast<LinkId>(i), way);
  }
  engine_.draw_by(request.seed);
  transport_.add_flows(plan_.wiring);
  const auto members = static_cast<std::size_t>(order_.members());
  start_times_.assign(members, 0);
  completion_times_.assign(members, -1);
  paths_.resize(members);
  add_background();
  schedule_starts(order_.first());
}

TaskWorld::~TaskWorld() = default;

void TaskWorld::add_background() {
  for (std::size_t i = 0; i < plan_.background.size(); ++i) {
    const TrafficPlan& traffic = plan_.background[i];
    senders_.push_back(std::make_unique<BackgroundSender>(
        context_, transport_, traffic,
        plan_.connections(traffic.first_connection, traffic.connections), request_.seed));
    BackgroundSender& sender = *senders_.back();
    Owner owner;
    owner.kind = Owner::Kind::kBackground;
    owner.traffic = i;
    owners_.resize(static_cast<std::size_t>(sender.first_port() + sender.ports()), owner);
    for (int source = 0; source < sender.sources(); ++source) {
      const auto place = static_cast<std::int32_t>(plan_.background.size()) * source +
                         static_cast<std::int32_t>(i);
      engine_.schedule(sender.next_start(source), static_cast<std::uint32_t>(RunEvent::kBackground),
                       place, place);
    }
  }
}

void TaskWorld::schedule_starts(const std::vector<TaskOrder::Ready>& ready) {
  for (const TaskOrder::Ready& next : ready) {
    const auto task = static_cast<std::size_t>(order_.task(next.member));
    start_times_[static_cast<std::size_t>(next.member)] = next.time;
    const Duration launch = launch_of(graph_.tasks[task]);
    const int place = plan_.start_places[task] + order_.place(next.member);
    engine_.schedule(next.time + launch.ps, static_cast<std::uint32_t>(RunEvent::kTaskStart),
                     next.member, place);
  }
}

Duration TaskWorld::launch_of(const Task& task) const {
  const bool launches = task.kind == TaskKind::kCollective && task.launches;
  return launches ? fabric_.cluster().node.gpu.kernel_launch : Duration{};
}

void TaskWorld::on_first_start(const Packet& packet, std::int64_t now) {
  transport_.on_first_start(packet, now);
}

void TaskWorld::on_delivery(const Packet& packet, std::int64_t delivered) {
  transport_.on_delivery(packet, delivered);
}

void TaskWorld::on_loss(const Packet& packet, LinkId link) { transport_.on_loss(packet, link); }

void TaskWorld::on_event(std::uint32_t kind, std::int32_t index) {
  const auto event = static_cast<RunEvent>(kind);
  switch (event) {
    case RunEvent::kTaskStart:
      return begin(index);
    case RunEvent::kComputeDone: {
      const int member = compute_.on_event(index);
      if (member != kNone) end_computation(member);
      return;
    }
    case RunEvent::kBackground: {
      const auto traffics = static_cast<std::int32_t>(senders_.size());
      BackgroundSender& sender = *senders_[static_cast<std::size_t>(index % traffics)];
      sender.begin_message(index / traffics);
      engine_.schedule(sender.next_start(index / traffics), kind, index, index);
      return;
    }
    case RunEvent::kReleased:
      return end_rank(running(order_.task(index)), index);
    case RunEvent::kReduceDone:
      return kernels_.on_event(event, index);
    default:
      return transport_.on_event(event, index);
  }
}

void TaskWorld::begin(int member) {
  if (task_of(member).kind == TaskKind::kCompute) return begin_computation(member);
  begin_collective(member);
}

// Longer where the GPU is a straggler.
Duration TaskWorld::work_of(int member) const {
  const Cluster& cluster = fabric_.cluster();
  const int gpu = order_.gpu(member);
  const double slowdown =
      slowdown_of(cluster.faults, gpu / cluster.node.gpu_count, gpu % cluster.node.gpu_count);
  return {std::llround(static_cast<double>(task_of(member).work.ps) * slowdown)};
}

void TaskWorld::begin_computation(int member) {
  compute_.begin(order_.gpu(member), member, work_of(member));
}

void TaskWorld::end_computation(int member) {
  const std::int64_t work = work_of(member).ps;
  const std::int64_t took = engine_.elapsed() - start_time(member);
  MemberPath& path = paths_[static_cast<std::size_t>(member)];
  path.origin = member;
  path.parts.push_back({kNoResource, Cause::kCompute, work});
  if (took > work) path.parts.push_back({kNoResource, Cause::kSlowed, took - work});
  end_member(member);
}

void TaskWorld::begin_collective(int member) {
  const Running collective = running(order_.task(member));
  const auto rank = static_cast<std::size_t>(order_.place(member));
  const Rank port = collective->first_port + order_.place(member);
  compute_.take(order_.gpu(member), collective->schedule->channels());
  const ChainId origin = blame_.start(member);
  Trace parts;
  parts.add(kNoResource, Cause::kLaunch, launch_of(task_of(member)).ps);
  const ChainId chain = blame_.extend(origin, parts);
  blame_.let_go(origin);
  CollectiveEngine& engine = *collective->engines[rank];
  CauseChain cause(blame_, chain);
  context_.cause = &cause;
  collective->begun[rank] = true;
  last_delivery_ = engine_.elapsed();
  engine.start(transport_.of(port), kernels_.of(port));
  // The kernel finds the flags of what came before it ran; what follows waited for its start.
  for (const Completion& completion : collective->early[rank]) engine.on_completion(completion);
  collective->early[rank].clear();
  context_.cause = nullptr;
  note_completion(collective, static_cast<Rank>(rank), cause);
  blame_.let_go(chain);
}

TaskWorld::Running TaskWorld::running(int task) {
  // The last to begin is the likeliest.
  for (auto place = running_.rbegin(); place != running_.rend(); ++place) {
    if (place->task == task) return std::prev(place.base());
  }
  close_idle();
  running_.emplace_back().task = task;
  const Running collective = std::prev(running_.end());
  open(collective);
  return collective;
}

void TaskWorld::open(Running collective) {
  const Task& task = graph_.tasks[static_cast<std::size_t>(collective->task)];
  const TaskWiring& wiring = wiring_of(collective->task);
  const EngineSettings settings = engine_settings_of(graph_, task);
  collective->schedule = schedule_of(graph_, task, wiring.placed.placement);
  PacketTransport::PortEnds ends;
  const Rank ranks = collective->schedule->ranks();
  for (Rank rank = 0; rank < ranks; ++rank) {
    collective->engines.push_back(
        std::make_unique<CollectiveEngine>(*collective->schedule, rank, settings));
    ends.push_back(&collective->engines.back()->connections());
  }
  collective->begun.assign(static_cast<std::size_t>(ranks), false);
  collective->complete.assign(static_cast<std::size_t>(ranks), false);
  collective->early.resize(static_cast<std::size_t>(ranks));
  collective->incomplete = ranks;
  const Communication& communication =
      graph_.communicators[static_cast<std::size_t>(task.communicator)].communication;
  const Protocol protocol = communication.protocol;
  collective->first_port =
      transport_.open(plan_.connections(wiring.first_connection, wiring.connections), ends,
                      settings.slots, protocol, thread_costs(communication, task.size));
  const auto ports = static_cast<std::size_t>(collective->first_port + ranks);
  if (owners_.size() < ports) owners_.resize(ports);
  for (Rank rank = 0; rank < ranks; ++rank) {
    const Rank port = collective->first_port + rank;
    owners_[static_cast<std::size_t>(port)] = {Owner::Kind::kCollective, collective, rank, 0};
    kernels_.open(port, wiring.placed.membership->gpu(rank), collective->schedule->channels(),
                  protocol);
    kernels_.take_turns(port, channel_turns(wiring.places, rank));
  }
  for (std::size_t i = 0; i < fabric_.links().size(); ++i) {
    collective->busy_before.push_back(busy_until(static_cast<LinkId>(i), engine_.elapsed()));
  }
}

// Between two events, lets go of what is over.
void TaskWorld::close_idle() {
  std::erase_if(complete_, [this](Running collective) {
    if (!transport_.idle(collective->first_port)) return false;
    close(collective);
    return true;
  });
}

void TaskWorld::close(Running collective) {
  account(*collective);
  const Rank first = collective->first_port;
  for (Rank rank = 0; rank < collective->schedule->ranks(); ++rank) {
    owners_[static_cast<std::size_t>(first + rank)] = {};
  }
  transport_.close(first);
  running_.erase(collective);
}

void TaskWorld::account(const RunningCollective& collective) {
  const Rank first = collective.first_port;
  const TaskWiring& wiring = wiring_of(collective.task);
  for (std::size_t i = 0; i < wiring.connections; ++i) {
    payloads_[wiring.first_connection + i] += transport_.payload(first, i);
  }
  for (Rank rank = 0; rank < collective.schedule->ranks(); ++rank) {
    const Rank port = first + rank;
    GpuUse& use = gpu_uses_[static_cast<std::size_t>(wiring.placed.membership->gpu(rank))];
    use.reduced += kernels_.bytes(port);
    use.kernel_time += kernels_.busy(port);
    use.channels = std::max(use.channels, collective.schedule->channels());
  }
}

void TaskWorld::deliver(Rank port, const Completion& completion, CauseChain& cause) {
  const Owner& owner = owners_[static_cast<std::size_t>(port)];
  if (owner.kind == Owner::Kind::kBackground) {
    return senders_[owner.traffic]->on_completion(port, completion);
  }
  GRADHAUL_ASSERT(owner.kind == Owner::Kind::kCollective, "what is on its way keeps its port");
  const Running collective = owner.collective;
  const Rank rank = owner.rank;
  const auto place = static_cast<std::size_t>(rank);
  last_delivery_ = engine_.elapsed();
  if (!collective->begun[place]) {
    collective->early[place].push_back(completion);
    return;
  }
  context_.cause = &cause;
  collective->engines[place]->on_completion(completion);
  context_.cause = nullptr;
  note_completion(collective, rank, cause);
}

void TaskWorld::note_completion(Running collective, Rank rank, CauseChain& cause) {
  const auto place = static_cast<std::size_t>(rank);
  if (collective->complete[place] || !collective->engines[place]->complete()) return;
  collective->complete[place] = true;
  const int member = order_.first_member(collective->task) + rank;
  Trace parts;
  const Duration release = transport_.release(collective->first_port + rank, parts);
  const ChainId chain = blame_.extend(cause.chain(), parts);
  const ChainHistory history = blame_.history(chain);
  blame_.let_go(chain);
  paths_[static_cast<std::size_t>(member)] = {history.origin, history.parts({})};
  compute_.give_back(order_.gpu(member), collective->schedule->channels());
  ResultRow& row = rows_[static_cast<std::size_t>(collective->task)];
  row.bytes_sent_per_rank =
      std::max(row.bytes_sent_per_rank, collective->engines[place]->bytes_sent());
  if (release.ps == 0) return end_rank(collective, member);
  engine_.schedule(engine_.now() + release.ps, static_cast<std::uint32_t>(RunEvent::kReleased),
                   member, member);
}

void TaskWorld::end_rank(Running collective, int member) {
  end_member(member);
  if (--collective->incomplete > 0) return;
  end_collective(*collective);
  complete_.push_back(collective);
}

void TaskWorld::end_member(int member) {
  const std::int64_t now = engine_.elapsed();
  completion_times_[static_cast<std::size_t>(member)] = now;
  last_delivery_ = now;
  // Of several that are complete at once, the lowest.
  if (completion_time(last_member_) != now || member < last_member_) last_member_ = member;
  ready_.clear();
  order_.complete(member, now, ready_);
  schedule_starts(ready_);
  if (order_.incomplete() == 0) engine_.stop();
}

PacketEngine::Pause TaskWorld::run_engine(std::int64_t budget) {
  try {
    return engine_.run(INT64_MAX - 1, budget);
  } catch (const RetriesExceeded& gave_up) {
    const Owner& owner = owners_[static_cast<std::size_t>(gave_up.first_port)];
    if (owner.kind != Owner::Kind::kCollective) {
      throw TransportFailure(retry_failure(gave_up, fabric_, nullptr, nullptr));
    }
    const RunningCollective& of = *owner.collective;
    const std::string& name = graph_.tasks[static_cast<std::size_t>(of.task)].name;
    throw TransportFailure(
        (name.empty() ? "" : name + ": ") +
        retry_failure(gave_up, fabric_, of.schedule.get(),
                      of.engines[static_cast<std::size_t>(sender_of(gave_up))].get()));
  }
}

void TaskWorld::run(std::int64_t budget) {
  if (complete()) return;
  const PacketEngine::Pause pause = run_engine(budget);
  if (complete()) {
    for (const RunningCollective& collective : running_) account(collective);
    return;
  }
  const bool silent =
      !senders_.empty() && engine_.elapsed() - last_delivery_ > stalled_for(fabric_, graph_);
  if (pause == PacketEngine::Pause::kIdle) report_stall();
  if (!silent) return;
  const bool waiting = std::any_of(running_.begin(), running_.end(),
                                   [](const auto& each) { return each.incomplete > 0; });
  if (waiting) report_stall();
}

double TaskWorld::progress() const {
  double done = order_.members() - order_.incomplete();
  for (const RunningCollective& collective : running_) {
    for (std::size_t rank = 0; rank < collective.engines.size(); ++rank) {
      if (!collective.complete[rank]) done += collective.engines[rank]->progress();
    }
  }
  return order_.members() == 0 ? 1 : done / order_.members();
}

void TaskWorld::report_stall() const {
  std::ostringstream table;
  table << "the run stalled at " << static_cast<double>(engine_.elapsed()) * 1e-6
        << " us: every rank waits and nothing is on its way\n";
  for (const RunningCollective& collective : running_) {
    if (collective.incomplete == 0) continue;
    table << graph_.tasks[static_cast<std::size_t>(collective.task)].name << ":\n";
    for (const auto& engine : collective.engines) {
      if (!engine->complete()) engine->describe(table);
    }
  }
  throw SimulationError(table.str());
}

}  // namespace gradhaul

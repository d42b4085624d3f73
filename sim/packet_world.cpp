#include "sim/packet_world.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "core/packet_loss.h"
#include "sim/port_observation.h"
#include "sim/retry_failure.h"
#include "sim/run_observation.h"

namespace gradhaul {

PacketWorld::PacketWorld(const PredictionRequest& request, const Fabric& fabric,
                         const Placement& placement, std::int64_t count, Starts starts)
    : request_(request),
      fabric_(fabric),
      plan_(plan_world(request, fabric, placement, count, starts)),
      engine_(fabric, *this, plan_.symmetry.copies()),
      blame_(plan_.symmetry.copies()),
      context_{fabric, engine_, blame_, *this},
      memory_(request.cluster.nodes * request.cluster.node.gpu_count,
              request.cluster.node.gpu.memory_bandwidth) {
  for (std::size_t i = 0; i < fabric.links().size(); ++i) {
    const LinkId way = fabric.links()[i].pause.reverse;
    if (way != kNoLink) {
      engine_.send_pauses_by(static_cast<LinkId>(i), plan_.symmetry.home_link(way));
    }
  }
  transport_ = std::make_unique<PacketTransport>(context_, memory_);
  kernels_ = std::make_unique<KernelReducer>(context_, memory_, ranks(), placement.ranks_per_node,
                                             channels(), request.communication.protocol);
  const auto all = static_cast<std::size_t>(ranks());
  slots_.assign(all, -1);
  std::vector<const std::vector<ConnectionEnd>*> ends(all, nullptr);
  const RingPlaces places = ring_places(placement);
  for (const Rank rank : plan_.simulated) {
    slots_[static_cast<std::size_t>(rank)] = static_cast<int>(engines_.size());
    engines_.push_back(std::make_unique<CollectiveEngine>(*plan_.schedule, rank, plan_.settings));
    ends[static_cast<std::size_t>(rank)] = &engines_.back()->connections();
    kernels_->take_turns(rank, channel_turns(places, rank));
  }
  transport_->add_flows(plan_.wiring);
  transport_->open(plan_.wiring.connections, ends, request.communication.slots,
                   request.communication.protocol,
                   thread_costs(request.communication, size_of(request.workload.datatype) * count));
  observe(count);
  if (plan_.stations) engine_.step_by_stations(*plan_.stations, *transport_);
  early_.resize(all);
  begun_.assign(all, false);
  start_times_.assign(all, 0);
  releasing_.assign(all, kNone);
  completion_times_.assign(all, -1);
  incomplete_ = not_begun_ = static_cast<Rank>(engines_.size());
  engine_.draw_by(request.seed);
  if (request.skip_recurrences && plan_.recurs) {
    recurrence_.emplace(RunState{engine_, *transport_, *kernels_, memory_, blame_, engines_});
  }
}

PacketWorld::~PacketWorld() = default;

void PacketWorld::start_rank(Rank rank, std::int64_t time) {
  if (!common_start_) common_start_ = time;
  GRADHAUL_ASSERT(copies() == 1 || time == *common_start_, "copies start together");
  if (plan_.symmetry.copy(rank) != 0) return;
  start_times_[static_cast<std::size_t>(rank)] = time;
  engine_.schedule(time + request_.cluster.node.gpu.kernel_launch.ps,
                   static_cast<std::uint32_t>(RunEvent::kRankStart), rank, rank);
}

void PacketWorld::begin(Rank rank) {
  const ChainId origin = blame_.start();
  Trace parts;
  parts.add(kNoResource, Cause::kLaunch, request_.cluster.node.gpu.kernel_launch.ps);
  // The program before the collective is not the collective's time; it is counted from zero.
  parts.add(kNoResource, Cause::kLatency, start_times_[static_cast<std::size_t>(rank)]);
  const ChainId chain = blame_.extend(origin, parts);
  blame_.let_go(origin);
  const auto place = static_cast<std::size_t>(rank);
  CauseChain cause(blame_, chain);
  context_.cause = &cause;
  begun_[place] = true;
  --not_begun_;
  engine_of(rank).start(transport_->of(rank), kernels_->of(rank));
  // The kernel finds the flags of what came before it ran; what follows waited for its start.
  for (const Completion& completion : early_[place]) engine_of(rank).on_completion(completion);
  early_[place].clear();
  context_.cause = nullptr;
  note_completion(rank, cause);
  blame_.let_go(chain);
}

void PacketWorld::deliver(Rank rank, const Completion& completion, CauseChain& cause) {
  if (!begun_[static_cast<std::size_t>(rank)]) {
    early_[static_cast<std::size_t>(rank)].push_back(completion);
    return;
  }
  context_.cause = &cause;
  engine_of(rank).on_completion(completion);
  context_.cause = nullptr;
  note_completion(rank, cause);
  if (recurrence_ && not_begun_ == 0 && rank == recurrence_->probe() && recurrence_->due()) {
    engine_.pause_after_instant();
  }
}

void PacketWorld::note_completion(Rank rank, CauseChain& cause) {
  const auto place = static_cast<std::size_t>(rank);
  if (completion_times_[place] >= 0 || releasing_[place] != kNone) return;
  if (!engine_of(rank).complete()) return;
  if (recurrence_) recurrence_->end();
  Trace parts;
  const Duration release = transport_->release(rank, parts);
  if (release.ps == 0) return complete(rank, cause.chain());
  releasing_[place] = blame_.extend(cause.chain(), parts);
  engine_.schedule(engine_.now() + release.ps, static_cast<std::uint32_t>(RunEvent::kReleased),
                   rank, rank);
}

void PacketWorld::complete(Rank rank, ChainId chain) {
  const auto place = static_cast<std::size_t>(rank);
  const std::int64_t now = engine_.elapsed();
  completion_times_[place] = now;
  for (Rank like = 0; like < ranks(); ++like) {
    if (plan_.symmetry.home(like) == rank) newly_completed_.push_back(like);
  }
  --incomplete_;
  engine_.stop();
  // Completions come in the order of time.
  const bool together = last_chain_ != kNone && completion_time(last_rank_) == now;
  if (together && last_rank_ < rank) return;
  if (last_chain_ != kNone) blame_.let_go(last_chain_);
  last_chain_ = chain;
  blame_.hold(last_chain_);
  last_rank_ = rank;
}

void PacketWorld::on_first_start(const Packet& packet, std::int64_t now) {
  transport_->on_first_start(packet, now);
}

void PacketWorld::on_delivery(const Packet& packet, std::int64_t delivered) {
  transport_->on_delivery(packet, delivered);
}

void PacketWorld::on_loss(const Packet& packet, LinkId link) { transport_->on_loss(packet, link); }

void PacketWorld::on_event(std::uint32_t kind, std::int32_t index) {
  const auto event = static_cast<RunEvent>(kind);
  if (event == RunEvent::kRankStart) {
    begin(index);
  } else if (event == RunEvent::kReleased) {
    complete(index, releasing_[static_cast<std::size_t>(index)]);
    blame_.let_go(std::exchange(releasing_[static_cast<std::size_t>(index)], kNone));
  } else if (event == RunEvent::kReduceDone) {
    kernels_->on_event(event, index);
  } else {
    transport_->on_event(event, index);
  }
}

PacketEngine::Pause PacketWorld::run(std::int64_t limit, std::int64_t budget) {
  while (true) {
    const std::int64_t before = engine_.events();
    const PacketEngine::Pause pause = run_engine(limit - engine_.repeated_time(), budget);
    if (pause != PacketEngine::Pause::kInstant) return pause;
    budget -= engine_.events() - before;
    recurrence_->look(limit);
  }
}

PacketEngine::Pause PacketWorld::run_engine(std::int64_t limit, std::int64_t budget) {
  try {
    return engine_.run(limit, budget);
  } catch (const RetriesExceeded& gave_up) {
    const Rank rank = sender_of(gave_up);
    throw TransportFailure(retry_failure(gave_up, fabric_, plan_.schedule.get(), &engine_of(rank)));
  }
}

void PacketWorld::append_event(StateWords& words, std::uint32_t kind, std::int32_t index) const {
  const auto event = static_cast<RunEvent>(kind);
  if (event == RunEvent::kReduceDone) {
    kernels_->append_operation(words, index);
  } else if (event == RunEvent::kInjectorWake || event == RunEvent::kRankStart ||
             event == RunEvent::kCopyWake || event == RunEvent::kReleased) {
    words.add(index);
  } else {
    words.add_message(index);
  }
}

std::vector<Rank> PacketWorld::take_completed() {
  std::vector<Rank> taken;
  taken.swap(newly_completed_);
  return taken;
}

double PacketWorld::progress() const {
  double least = 1;
  const std::size_t step = std::max<std::size_t>(1, engines_.size() / 8);
  for (std::size_t i = 0; i < engines_.size(); i += step) {
    least = std::min(least, engines_[i]->progress());
  }
  return least;
}

void PacketWorld::report_stall() const {
  std::ostringstream table;
  table << "the run stalled at " << static_cast<double>(engine_.elapsed()) * 1e-6
        << " us: every rank waits and nothing is on its way\n";
  for (const auto& engine : engines_) {
    if (!engine->complete()) engine->describe(table);
  }
  throw SimulationError(table.str());
}

std::int64_t PacketWorld::end() const {
  return *std::max_element(completion_times_.begin(), completion_times_.end());
}

std::int64_t PacketWorld::bytes_sent(Rank rank) const {
  return engines_[slot(plan_.symmetry.home(rank))]->bytes_sent().count;
}

std::int64_t PacketWorld::busy(LinkId id) const {
  const LinkState& state = link(id);
  const std::int64_t after = state.free + engine_.repeated_time() - end();
  return state.busy_total - std::max<std::int64_t>(0, after);
}

std::int64_t PacketWorld::stalled(LinkId id) const {
  return engine_.stall_elapsed(plan_.symmetry.home_link(id));
}

GpuUse PacketWorld::gpu_use(int node, int gpu) const {
  const Cluster& cluster = request_.cluster;
  if (gpu >= cluster.ranks_per_node) return {};
  const Rank home = plan_.symmetry.home(node * cluster.ranks_per_node + gpu);
  const int home_gpu = cluster.gpu_of(home);
  const HostCores::Use cores = transport_->core_use(home_gpu);
  return {kernels_->bytes(home),  kernels_->busy(home), channels(), memory_.bytes(home_gpu),
          memory_.busy(home_gpu), cores.bytes,          cores.busy};
}

double PacketWorld::busy_cores() const {
  const std::vector<std::int64_t> busy = transport_->busy_threads();
  if (busy.empty()) return 0;
  const int each = request_.cluster.ranks_per_node;
  std::int64_t most = 0;
  for (Rank first = 0; first < ranks(); first += each) {
    std::int64_t sum = 0;
    for (Rank rank = first; rank < first + each; ++rank) {
      sum += busy[static_cast<std::size_t>(plan_.symmetry.home(rank))];
    }
    most = std::max(most, sum);
  }
  return static_cast<double>(most) / static_cast<double>(end());
}

double PacketWorld::tcp_cores() const {
  const Cluster& cluster = request_.cluster;
  std::int64_t most = 0;
  for (int node = 0; node < cluster.nodes; ++node) {
    std::int64_t helpers = 0;
    for (int gpu = 0; gpu < cluster.ranks_per_node; ++gpu) {
      const HostCores::Use use = transport_->core_use(node * cluster.node.gpu_count + gpu);
      helpers += use.busy - use.first;
    }
    most = std::max(most, helpers);
  }
  return cluster.ranks_per_node + static_cast<double>(most) / static_cast<double>(end());
}

std::uint64_t PacketWorld::digest() const {
  RunDigest digest;
  for (std::size_t i = 0; i < fabric_.links().size(); ++i) {
    const LinkDigest& served = link(static_cast<LinkId>(i)).digest;
    if (fabric_.links()[i].kind == LinkKind::kHostMemory && served.count == 0) continue;
    digest.add(served.reduced());
    digest.add(static_cast<std::uint64_t>(served.count));
    digest.add(static_cast<std::uint64_t>(
        served.count == 0 ? 0 : served.last_start + engine_.repeated_time()));
  }
  for (Rank rank = 0; rank < ranks(); ++rank) {
    digest.add(static_cast<std::uint64_t>(completion_time(rank)));
  }
  return digest.value();
}

std::vector<TracePart> PacketWorld::critical_path() const {
  std::vector<TracePart> path =
      recurrence_ ? recurrence_->parts(last_chain_) : blame_.parts(last_chain_);
  for (TracePart& part : path) part.resource = plan_.symmetry.resource(part.resource);
  std::sort(path.begin(), path.end(), [](const TracePart& a, const TracePart& b) {
    return std::pair(a.resource, a.cause) < std::pair(b.resource, b.cause);
  });
  return path;
}

void PacketWorld::check() const {
  const bool lossy = transport_->numbers_any();
  // What was sent again without need may still be on its way.
  GRADHAUL_ASSERT(
      lossy ? transport_->all_accepted() : engine_.payload_sent() == engine_.payload_delivered(),
      "bytes in are bytes out");
  std::int64_t accounted = 0;
  for (const TracePart& part : critical_path()) accounted += part.ps;
  GRADHAUL_ASSERT(accounted == end(), "the parts of the critical path add up to its time");
  for (std::size_t i = 0; i < fabric_.links().size(); ++i) {
    GRADHAUL_ASSERT(busy(static_cast<LinkId>(i)) <= end(), "no link is over its rate");
  }
}

}  // namespace gradhaul

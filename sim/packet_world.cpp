#include "sim/packet_world.h"

#include <algorithm>
#include <sstream>

#include "core/make_schedule.h"

namespace gradhaul {

PacketWorld::PacketWorld(const PredictionRequest& request, const Fabric& fabric,
                         const Placement& placement, std::int64_t count)
    : request_(request),
      fabric_(fabric),
      engine_(fabric, *this),
      context_{fabric, engine_, blame_, *this},
      memory_(request.cluster.nodes * request.cluster.node.gpu_count,
              request.cluster.node.gpu.memory_bandwidth) {
  const Rank ranks = request.cluster.ranks();
  ScheduleRequest asked;
  asked.collective = request.workload.collective;
  asked.algorithm = request.communication.algorithm;
  asked.ranks = ranks;
  asked.count = count;
  asked.datatype = request.workload.datatype;
  asked.slot_size = request.communication.slot_size;
  schedule_ = make_schedule(asked, placement);
  transport_ =
      std::make_unique<PacketTransport>(context_, memory_, placement, request.communication);
  kernels_ = std::make_unique<KernelReducer>(context_, memory_, ranks, placement.ranks_per_node,
                                             schedule_->channels());
  EngineSettings settings;
  settings.datatype = request.workload.datatype;
  settings.reduction = request.workload.reduction;
  settings.slots = request.communication.slots;
  settings.slot_size = request.communication.slot_size;
  std::vector<const std::vector<ConnectionEnd>*> ends;
  for (Rank rank = 0; rank < ranks; ++rank) {
    engines_.push_back(std::make_unique<CollectiveEngine>(*schedule_, rank, settings));
    ends.push_back(&engines_.back()->connections());
  }
  transport_->connect(ends);
  early_.resize(static_cast<std::size_t>(ranks));
  begun_.assign(static_cast<std::size_t>(ranks), false);
  start_times_.assign(static_cast<std::size_t>(ranks), 0);
  completion_times_.assign(static_cast<std::size_t>(ranks), -1);
  incomplete_ = ranks;
  not_begun_ = ranks;
  if (request.skip_recurrences) {
    recurrence_.emplace(RunState{engine_, *transport_, *kernels_, memory_, blame_, engines_});
  }
}

PacketWorld::~PacketWorld() = default;

void PacketWorld::start_rank(Rank rank, std::int64_t time) {
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
  context_.cause = chain;
  begun_[place] = true;
  --not_begun_;
  engines_[place]->start(transport_->of(rank), kernels_->of(rank));
  // The kernel finds the flags of what came before it ran; what follows waited for its start.
  for (const Completion& completion : early_[place]) engines_[place]->on_completion(completion);
  early_[place].clear();
  context_.cause = kNone;
  note_completion(rank, chain);
  blame_.let_go(chain);
}

void PacketWorld::deliver(Rank rank, const Completion& completion, ChainId chain) {
  if (!begun_[static_cast<std::size_t>(rank)]) {
    early_[static_cast<std::size_t>(rank)].push_back(completion);
    return;
  }
  context_.cause = chain;
  engines_[static_cast<std::size_t>(rank)]->on_completion(completion);
  context_.cause = kNone;
  note_completion(rank, chain);
  if (recurrence_ && not_begun_ == 0 && rank == recurrence_->probe() && recurrence_->due()) {
    engine_.pause_after_instant();
  }
}

void PacketWorld::note_completion(Rank rank, ChainId chain) {
  const auto place = static_cast<std::size_t>(rank);
  if (completion_times_[place] >= 0 || !engines_[place]->complete()) return;
  if (recurrence_) recurrence_->end();
  completion_times_[place] = engine_.elapsed();
  newly_completed_.push_back(rank);
  --incomplete_;
  // Completions come in the order of time: the last one noted is the last of all.
  if (last_chain_ != kNone) blame_.let_go(last_chain_);
  blame_.hold(chain);
  last_chain_ = chain;
  engine_.stop();
}

void PacketWorld::on_first_start(const Packet& packet, std::int64_t now) {
  transport_->on_first_start(packet, now);
}

void PacketWorld::on_delivery(const Packet& packet, std::int64_t delivered) {
  transport_->on_delivery(packet, delivered);
}

void PacketWorld::on_event(std::uint32_t kind, std::int32_t index) {
  const auto event = static_cast<RunEvent>(kind);
  if (event == RunEvent::kRankStart) {
    begin(index);
  } else if (event == RunEvent::kReduceDone) {
    kernels_->on_event(event, index);
  } else {
    transport_->on_event(event, index);
  }
}

PacketEngine::Pause PacketWorld::run(std::int64_t limit, std::int64_t budget) {
  while (true) {
    const PacketEngine::Pause pause = engine_.run(limit - engine_.repeated_time(), budget);
    if (pause != PacketEngine::Pause::kInstant) return pause;
    recurrence_->look(limit);
  }
}

void PacketWorld::append_event(StateWords& words, std::uint32_t kind, std::int32_t index) const {
  const auto event = static_cast<RunEvent>(kind);
  if (event == RunEvent::kReduceDone) {
    kernels_->append_operation(words, index);
  } else if (event == RunEvent::kInjectorWake || event == RunEvent::kRankStart) {
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
  return engines_[static_cast<std::size_t>(rank)]->bytes_sent().count;
}

std::int64_t PacketWorld::busy(LinkId link) const {
  const LinkState& state = engine_.state(link);
  const std::int64_t after = state.free + engine_.repeated_time() - end();
  return state.busy_total - std::max<std::int64_t>(0, after);
}

std::uint64_t PacketWorld::digest() const {
  RunDigest digest;
  for (std::size_t i = 0; i < fabric_.links().size(); ++i) {
    const LinkDigest& link = engine_.state(static_cast<LinkId>(i)).digest;
    digest.add(link.value);
    digest.add(static_cast<std::uint64_t>(link.count));
    digest.add(static_cast<std::uint64_t>(
        link.count == 0 ? 0 : link.last_start + engine_.repeated_time()));
  }
  for (const std::int64_t time : completion_times_) digest.add(static_cast<std::uint64_t>(time));
  return digest.value();
}

std::vector<TracePart> PacketWorld::critical_path() const {
  return recurrence_ ? recurrence_->parts(last_chain_) : blame_.parts(last_chain_);
}

void PacketWorld::check() const {
  GRADHAUL_ASSERT(engine_.payload_sent() == engine_.payload_delivered(), "bytes in are bytes out");
  std::int64_t accounted = 0;
  for (const TracePart& part : critical_path()) accounted += part.ps;
  GRADHAUL_ASSERT(accounted == end(), "the parts of the critical path add up to its time");
  for (std::size_t i = 0; i < fabric_.links().size(); ++i) {
    GRADHAUL_ASSERT(busy(static_cast<LinkId>(i)) <= end(), "no link is over its rate");
  }
}

}  // namespace gradhaul

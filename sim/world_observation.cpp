// How a world lets others look on at its run.

#include "sim/packet_world.h"
#include "sim/port_observation.h"
#include "sim/run_observation.h"

namespace gradhaul {

void PacketWorld::observe(std::int64_t count) {
  if (request_.observer == nullptr && request_.port_observer == nullptr) return;
  GRADHAUL_ASSERT(!request_.skip_recurrences, "what is skipped is not seen");
  if (request_.observer != nullptr) {
    observe_run(*request_.observer, size_of(request_.workload.datatype) * count);
  }
  if (request_.port_observer != nullptr) observe_ports(*request_.port_observer);
}

void PacketWorld::observe_run(RunObserver& observer, Bytes size) {
  RunLayout layout;
  layout.size = size;
  layout.channels = channels();
  layout.lanes = plan_.schedule->lanes();
  const int per_node = request_.cluster.ranks_per_node;
  for (Rank rank = 0; rank < ranks(); ++rank) {
    layout.ranks.push_back("node" + std::to_string(rank / per_node) + ".gpu" +
                           std::to_string(rank % per_node));
  }
  for (const Link& link : fabric_.links()) layout.links.push_back({link.name, link.port});
  observation_ = std::make_unique<RunObservation>(observer, layout, *plan_.schedule, engine_);
  context_.observation = observation_.get();
  observers_.add(*observation_);
  for (std::size_t i = 0; i < layout.links.size(); ++i) {
    const auto link = static_cast<LinkId>(i);
    if (observation_->watches(link)) engine_.watch(link, observers_);
  }
  for (const Rank rank : plan_.simulated) {
    CollectiveEngine& engine = engine_of(rank);
    engine.observe(observation_->of(rank, engine.connections()));
  }
}

void PacketWorld::observe_ports(PortObserver& observer) {
  SlotPlaces slots;
  for (const auto& engine : engines_) {
    for (const ConnectionEnd& end : engine->connections()) {
      if (!end.sends) slots[end.key] = end.slots_offset;
    }
  }
  ports_ = std::make_unique<PortObservation>(observer, fabric_, plan_.wiring, std::move(slots),
                                             plan_.settings.slot_size, request_.seed);
  context_.ports = ports_.get();
  observers_.add(*ports_);
  for (std::size_t i = 0; i < fabric_.links().size(); ++i) {
    const auto link = static_cast<LinkId>(i);
    if (ports_->watches(link)) engine_.watch(link, observers_);
  }
}

void PacketWorld::end_observation() {
  if (observation_ != nullptr) observation_->end(complete());
  if (ports_ != nullptr) ports_->end(engine_.now());
}

}  // namespace gradhaul

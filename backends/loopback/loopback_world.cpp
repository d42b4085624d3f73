#include "backends/loopback/loopback_world.h"

#include <algorithm>
#include <sstream>

#include "core/assert.h"

namespace gradhaul {

LoopbackWorld::LoopbackWorld(const Schedule& schedule, const LoopbackWorldSettings& settings)
    : in_place_(settings.in_place) {
  GRADHAUL_ASSERT(!in_place_ || settings.input_elements == settings.output_elements,
                  "in place, input and output are one");
  const Bytes element = size_of(settings.engine.datatype);
  const auto bytes = [&](std::int64_t elements) {
    return static_cast<std::size_t>((element * elements).count);
  };
  std::vector<LoopbackRank> ranks;
  for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
    engines_.push_back(std::make_unique<CollectiveEngine>(schedule, rank, settings.engine));
    const CollectiveEngine& engine = *engines_.back();
    sinks_.push_back(engines_.back().get());
    Memory& memory = memory_.emplace_back();
    memory.output.assign(bytes(settings.output_elements), in_place_ ? std::byte{0} : kPoison);
    memory.slots.assign(static_cast<std::size_t>(engine.slots_bytes().count), kPoison);
    if (!in_place_) memory.input.assign(bytes(settings.input_elements), std::byte{0});
    const std::span<std::byte> input = in_place_ ? memory.output : memory.input;
    ranks.push_back({engine.connections(), HostMemory{input, memory.output, memory.slots}});
  }
  fabric_ = std::make_unique<LoopbackFabric>(
      std::move(ranks), LoopbackSlots{settings.engine.slots, settings.engine.slot_size},
      settings.fabric);
}

std::span<std::byte> LoopbackWorld::input(Rank rank) {
  Memory& memory = memory_[static_cast<std::size_t>(rank)];
  return in_place_ ? memory.output : memory.input;
}

std::span<std::byte> LoopbackWorld::output(Rank rank) {
  return memory_[static_cast<std::size_t>(rank)].output;
}

void LoopbackWorld::start() {
  for (Rank rank = 0; rank < ranks(); ++rank) {
    engine(rank).start(fabric_->transport(rank), fabric_->reducer(rank));
  }
}

bool LoopbackWorld::step(DeliveryChooser& chooser) {
  const std::span<const Deliverable> deliverable = fabric_->deliverable();
  if (deliverable.empty()) return false;
  fabric_->deliver(chooser.choose(deliverable), sinks_);
  return true;
}

LoopbackOutcome LoopbackWorld::outcome() const {
  using Kind = LoopbackOutcome::Kind;
  const bool finished = std::ranges::all_of(engines_, [](const auto& e) { return e->finished(); });
  if (finished) return {Kind::kFinished, ""};
  const bool failed = std::ranges::any_of(
      engines_, [](const auto& e) { return e->status() != CompletionStatus::kOk; });
  std::ostringstream report;
  for (const auto& engine : engines_) engine->describe(report);
  return {failed ? Kind::kFailed : Kind::kStalled, report.str()};
}

LoopbackOutcome LoopbackWorld::run(DeliveryChooser& chooser) {
  start();
  while (step(chooser)) {
  }
  return outcome();
}

}  // namespace gradhaul

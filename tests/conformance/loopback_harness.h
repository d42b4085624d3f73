#pragma once

// The loopback transport under test: a fabric, memory for it, and a chooser.

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "backends/loopback/loopback_fabric.h"
#include "tests/conformance/transport_harness.h"

namespace gradhaul::conformance {

class LoopbackConformanceWorld final : public ConformanceWorld {
 public:
  LoopbackConformanceWorld(const WorldShape& shape, const LoopbackSettings& settings,
                           std::unique_ptr<DeliveryChooser> chooser)
      : in_place_(shape.in_place), chooser_(std::move(chooser)) {
    std::vector<LoopbackRank> ranks;
    for (std::size_t rank = 0; rank < shape.connections.size(); ++rank) {
      Memory& memory = memory_.emplace_back();
      memory.output.assign(size(shape.output), kPoison);
      memory.slots.assign(size(shape.slots_bytes[rank]), kPoison);
      if (!in_place_) memory.input.assign(size(shape.input), kPoison);
      ranks.push_back({shape.connections[rank],
                       {in_place_ ? memory.output : memory.input, memory.output, memory.slots}});
    }
    sinks_.resize(ranks.size());
    fabric_ = std::make_unique<LoopbackFabric>(
        std::move(ranks), LoopbackSlots{shape.slots, shape.slot_size}, settings);
  }

  Transport& transport(Rank rank) override { return fabric_->transport(rank); }
  Reducer& reducer(Rank rank) override { return fabric_->reducer(rank); }
  void connect(Rank rank, CompletionSink& sink) override {
    sinks_[static_cast<std::size_t>(rank)] = &sink;
  }
  bool step() override {
    const std::span<const Deliverable> deliverable = fabric_->deliverable();
    if (deliverable.empty()) return false;
    fabric_->deliver(chooser_->choose(deliverable), sinks_);
    return true;
  }
  std::span<std::byte> memory(Rank rank, Region region) override {
    Memory& memory = memory_[static_cast<std::size_t>(rank)];
    if (region == Region::kSlots) return memory.slots;
    return region == Region::kInput && !in_place_ ? memory.input : memory.output;
  }
  bool fail_write(const ConnectionKey& key, std::int64_t ordinal) override {
    fabric_->fail_write(key, ordinal);
    return true;
  }

 private:
  struct Memory {
    std::vector<std::byte> input;
    std::vector<std::byte> output;
    std::vector<std::byte> slots;
  };
  static std::size_t size(Bytes bytes) { return static_cast<std::size_t>(bytes.count); }

  bool in_place_;
  std::unique_ptr<DeliveryChooser> chooser_;
  std::vector<Memory> memory_;
  std::vector<CompletionSink*> sinks_;
  std::unique_ptr<LoopbackFabric> fabric_;
};

class FifoLoopback final : public TransportHarness {
 public:
  std::unique_ptr<ConformanceWorld> make_world(const WorldShape& shape,
                                               std::uint64_t /*seed*/) const override {
    return std::make_unique<LoopbackConformanceWorld>(shape, LoopbackSettings{},
                                                      std::make_unique<FifoChooser>());
  }
};

// Bytes read as late as may be, slots overwritten once returned, sources watched, and by the seed
// as few writes in flight as one.
inline LoopbackSettings strict_settings(std::uint64_t seed) {
  LoopbackSettings settings;
  settings.poison_returned_slots = true;
  settings.check_sources = true;
  if (seed % 4 != 0) settings.limits.max_writes_in_flight = static_cast<std::int32_t>(seed % 4);
  return settings;
}

class RandomLoopback final : public TransportHarness {
 public:
  std::unique_ptr<ConformanceWorld> make_world(const WorldShape& shape,
                                               std::uint64_t seed) const override {
    return std::make_unique<LoopbackConformanceWorld>(shape, strict_settings(seed),
                                                      std::make_unique<RandomChooser>(seed));
  }
};

// Each kind of completion in turn comes last.
class StarvingLoopback final : public TransportHarness {
 public:
  std::unique_ptr<ConformanceWorld> make_world(const WorldShape& shape,
                                               std::uint64_t seed) const override {
    const auto kind = static_cast<CompletionKind>(seed % 5);
    return std::make_unique<LoopbackConformanceWorld>(
        shape, strict_settings(seed), std::make_unique<StarvingChooser>(kind, seed));
  }
};

}  // namespace gradhaul::conformance

#pragma once

// Endpoints of all ranks in one thread, with host memory and CPU reducers: the part of a world
// under test that is the same for every real transport.

#include <algorithm>
#include <memory>
#include <vector>

#include "backends/cpu/cpu_reducer.h"
#include "backends/measure/endpoint_maker.h"
#include "backends/shared/shared_pages.h"
#include "tests/conformance/transport_harness.h"

namespace gradhaul::conformance {

class EndpointWorld : public ConformanceWorld {
 public:
  explicit EndpointWorld(const WorldShape& shape, int queue_pairs, bool shares_slots = false)
      : shape_(shape), queue_pairs_(queue_pairs), sinks_(shape.connections.size()) {
    for (std::size_t rank = 0; rank < shape.connections.size(); ++rank) {
      Memory& memory = memory_.emplace_back();
      memory.output.assign(size(shape.output), std::byte{0x7b});
      if (shares_slots) {
        memory.shared_slots = SharedPages(shape.slots_bytes[rank]);
        std::ranges::fill(memory.shared_slots.bytes(), std::byte{0x7b});
      } else {
        memory.slots.assign(size(shape.slots_bytes[rank]), std::byte{0x7b});
      }
      if (!shape.in_place) memory.input.assign(size(shape.input), std::byte{0x7b});
      reducers_.push_back(std::make_unique<CpuReducer>(regions(rank)));
    }
  }

  Transport& transport(Rank rank) override { return *endpoints_[static_cast<std::size_t>(rank)]; }
  Reducer& reducer(Rank rank) override { return *reducers_[static_cast<std::size_t>(rank)]; }
  void connect(Rank rank, CompletionSink& sink) override {
    sinks_[static_cast<std::size_t>(rank)] = &sink;
  }
  bool step() override {
    bool any = false;
    while (!any) {
      for (std::size_t rank = 0; rank < endpoints_.size(); ++rank) {
        any |= endpoints_[rank]->poll(*sinks_[rank]);
        any |= reducers_[rank]->complete_one_of_each(*sinks_[rank]);
      }
      if (!any && !may_come()) return false;
    }
    return true;
  }
  std::span<std::byte> memory(Rank rank, Region region) override {
    return region_of(regions(static_cast<std::size_t>(rank)), region);
  }

 protected:
  // Whether anything is on its way that has not been delivered, after a round without anything.
  virtual bool may_come() = 0;

  EndpointRequest request(std::size_t rank) {
    return {.connections = shape_.connections[rank],
            .memory = regions(rank),
            .slots = shape_.slots,
            .slot_size = shape_.slot_size,
            .queue_pairs = queue_pairs_};
  }

  std::vector<std::unique_ptr<Endpoint>> endpoints_;  // for the derived class to fill

 private:
  struct Memory {
    std::vector<std::byte> input;
    std::vector<std::byte> output;
    std::vector<std::byte> slots;
    SharedPages shared_slots;
  };
  static std::size_t size(Bytes bytes) { return static_cast<std::size_t>(bytes.count); }
  HostMemory regions(std::size_t rank) {
    Memory& memory = memory_[rank];
    const bool shares = !memory.shared_slots.bytes().empty();
    return {shape_.in_place ? memory.output : memory.input, memory.output,
            shares ? memory.shared_slots.bytes() : std::span<std::byte>(memory.slots),
            memory.shared_slots.file()};
  }

  WorldShape shape_;
  int queue_pairs_;
  std::vector<Memory> memory_;
  std::vector<std::unique_ptr<CpuReducer>> reducers_;
  std::vector<CompletionSink*> sinks_;
};

}  // namespace gradhaul::conformance

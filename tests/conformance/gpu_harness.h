#pragma once

// Transports for memory of a GPU under test, over a fake one: copies between ranks of a process,
// and staging for a transport that takes host memory. One thread drives all ends.

#include <memory>
#include <thread>
#include <vector>

#include "backends/bootstrap/thread_exchange.h"
#include "backends/cuda/gpu_rank_memory.h"
#include "backends/cuda/gpu_slot_copier.h"
#include "backends/cuda/staged_endpoint.h"
#include "backends/loopback/memory_endpoint.h"
#include "tests/conformance/transport_harness.h"
#include "tests/fake_cuda/fake_cuda.h"

namespace gradhaul::conformance {

class GpuWorld : public ConformanceWorld {
 public:
  GpuWorld(const WorldShape& shape, bool staged)
      : shape_(shape), group_(shape.ranks(), std::chrono::seconds(60)) {
    for (Rank rank = 0; rank < shape.ranks(); ++rank) {
      ranks_.push_back(std::make_unique<OneRank>(*this, rank, staged));
    }
    std::vector<std::thread> threads;
    for (const auto& rank : ranks_) threads.emplace_back([&] { rank->open(shape_); });
    for (std::thread& thread : threads) thread.join();
    ranks_.front()->gpu.device().make_current();
  }

  Transport& transport(Rank rank) override { return *at(rank).endpoint; }
  Reducer& reducer(Rank rank) override { return at(rank).memory.reducer(); }
  void connect(Rank rank, CompletionSink& sink) override { at(rank).sink = &sink; }
  // A look lets some of the GPU's work be done, so that nothing comes any more only where there is
  // none left before it.
  bool step() override {
    for (bool last = false; !last;) {
      last = cuda_.pending() == 0;
      bool any = false;
      for (const auto& rank : ranks_) {
        any |= rank->endpoint->poll(*rank->sink);
        any |= rank->memory.poll(*rank->sink);
      }
      if (any) return true;
    }
    return false;
  }
  std::span<std::byte> memory(Rank rank, Region region) override {
    const std::span<std::byte> there = region_of(at(rank).memory.regions(), region);
    return {cuda_.view(there.data(), there.size()), there.size()};
  }

 private:
  struct OneRank {
    OneRank(GpuWorld& world, Rank rank, bool stages)
        : gpu(0, fake::FakeCuda::library(), fake::kernel_image()),
          memory(gpu),
          exchange(world.group_, rank),
          copying(world.place_, exchange,
                  [this](std::size_t connections) {
                    return std::make_unique<GpuSlotCopier>(gpu.device(), connections);
                  }),
          threads(world.place_, exchange),
          staging(
              threads, [this]() -> const CudaDevice& { return gpu.device(); }, "a test"),
          staged(stages) {}

    void open(const WorldShape& shape) {
      const auto rank = static_cast<std::size_t>(exchange.rank());
      memory.prepare({.input = shape.input,
                      .output = shape.output,
                      .slots = shape.slots_bytes[rank],
                      .in_place = shape.in_place});
      EndpointMaker& maker = staged ? static_cast<EndpointMaker&>(staging) : copying;
      endpoint = maker.make({.connections = shape.connections[rank],
                             .memory = memory.regions(),
                             .slots = shape.slots,
                             .slot_size = shape.slot_size});
    }

    RankGpu gpu;
    GpuRankMemory memory;
    ThreadExchange exchange;
    MemoryEndpointMaker copying;
    MemoryEndpointMaker threads;
    StagedEndpointMaker staging;
    bool staged;
    std::unique_ptr<Endpoint> endpoint;
    CompletionSink* sink = nullptr;
  };
  OneRank& at(Rank rank) { return *ranks_[static_cast<std::size_t>(rank)]; }

  fake::FakeCuda cuda_;
  WorldShape shape_;
  ThreadGroup group_;
  MemoryMeetingPlace place_;
  std::vector<std::unique_ptr<OneRank>> ranks_;
};

template <bool kStaged>
class GpuHarness final : public TransportHarness {
 public:
  std::unique_ptr<ConformanceWorld> make_world(const WorldShape& shape,
                                               std::uint64_t /*seed*/) const override {
    return std::make_unique<GpuWorld>(shape, kStaged);
  }
  std::uint64_t one_case_in() const override { return 7; }
};

}  // namespace gradhaul::conformance

#include "scenarios/rank_memory_command.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cuda/gpu_slot_copier.h"
#include "backends/cuda/ipc_slots.h"
#include "scenarios/did_you_mean.h"

namespace gradhaul {
namespace {

const std::vector<std::string> kMemories{"host", "gpu"};

// Its place among the ranks of its host.
int place_of(const MeasureOptions& options, const MeasurePlan& plan, int rank) {
  const bool all_here = plan.start == RankStart::kThisProcess || options.started_by_measure ||
                        (options.launched && options.launched->all_on_this_host);
  return all_here ? rank : rank % plan.scenario.cluster.ranks_per_node;
}

}  // namespace

bool in_gpu_memory(const MeasureOptions& options) {
  if (std::find(kMemories.begin(), kMemories.end(), options.memory) == kMemories.end()) {
    refuse("--memory " + options.memory,
           fmt::format("there is no such memory{}; ranks' data is in that of the host or of a gpu",
                       did_you_mean(options.memory, kMemories)));
  }
  return options.memory == "gpu";
}

void require_gpu(const MeasureOptions& options, const MeasurePlan& plan) {
  if (!in_gpu_memory(options) || plan.start != RankStart::kThisProcess) return;
  RankGpu(0).device();
}

RankMemorySetup::RankMemorySetup(const MeasureOptions& options, const MeasurePlan& plan, int rank,
                                 SlotAccess slots)
    : ranks_(plan.ranks) {
  if (!in_gpu_memory(options)) {
    memory_ = std::make_unique<HostRankMemory>(slots);
    return;
  }
  gpu_ = std::make_unique<RankGpu>(place_of(options, plan, rank));
  auto memory = std::make_unique<GpuRankMemory>(*gpu_);
  device_slots_ = std::make_unique<IpcSlots>(*memory);
  memory_ = std::move(memory);
}

std::optional<HostSide> RankMemorySetup::host_side(EndpointMaker& endpoints) {
  if (gpu_ == nullptr) return std::nullopt;
  return HostSide{endpoints, beside_};
}

MemoryEndpointMaker::CopierMaker RankMemorySetup::copier() {
  if (gpu_ == nullptr) return {};
  return [this](std::size_t connections) {
    CudaDevice& device = gpu_->device();
    if (notes_.empty()) {
      for (int peer = 0; peer < std::min(ranks_, gpu_->count()); ++peer) {
        if (device.reach(peer)) continue;
        notes_.push_back(
            fmt::format("{} can't write to GPU {} itself: copies between them go through host "
                        "memory, by the driver",
                        name_of(device.gpu()), peer));
      }
    }
    return std::make_unique<GpuSlotCopier>(device, connections);
  };
}

}  // namespace gradhaul

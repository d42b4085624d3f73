#pragma once

// Where a rank of a measure has its data: in the host's memory, or in a GPU's (--memory gpu).

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/cpu/host_rank_memory.h"
#include "backends/cuda/gpu_rank_memory.h"
#include "backends/loopback/memory_endpoint.h"
#include "backends/measure/measure.h"
#include "backends/shared/device_slots.h"
#include "scenarios/measure_plan.h"

namespace gradhaul {

// Throws ConfigError where there is no such memory.
bool in_gpu_memory(const MeasureOptions& options);

// That this host has what --memory gpu takes, where this process starts all ranks: told once, and
// not by each of them. Throws RankMemoryError.
void require_gpu(const MeasureOptions& options, const MeasurePlan& plan);

class RankMemorySetup {
 public:
  // Of rank `rank`, used by its thread alone. `slots`: of host memory.
  RankMemorySetup(const MeasureOptions& options, const MeasurePlan& plan, int rank,
                  SlotAccess slots);

  RankMemory& memory() { return *memory_; }
  // The GPU that has the rank's data; nullptr: the host has it.
  RankGpu* gpu() { return gpu_.get(); }
  // By which processes of a host reach each other's receive slots; nullptr: the host has them.
  DeviceSlots* device_slots() { return device_slots_.get(); }
  // What makes a loopback's copies; nothing: the CPU does.
  MemoryEndpointMaker::CopierMaker copier();
  // Host memory beside a GPU's, joined by these endpoints, which outlive it; nothing where the host
  // has the rank's data anyway.
  std::optional<HostSide> host_side(EndpointMaker& endpoints);
  // What there is to say of this rank's memory.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  int ranks_;
  std::unique_ptr<RankGpu> gpu_;
  std::unique_ptr<RankMemory> memory_;
  std::unique_ptr<DeviceSlots> device_slots_;
  HostRankMemory beside_;  // empty until it is prepared
  std::vector<std::string> notes_;
};

}  // namespace gradhaul

#pragma once

// What NVIDIA's management library tells of GPUs that no file does: NVLinks, what slows clocks
// down, errors of memory.

#include <vector>

#include "backends/host/counter_reader.h"
#include "backends/host/host_inventory.h"
#include "backends/host/nvml_library.h"

namespace gradhaul {

// Of those GPUs of the host that the library knows, in the order of host.gpus.
std::vector<GpuState> read_gpu_states(NvmlLibrary& nvml, const HostInventory& host);

// What it counts, as counters of GPUs and of their NVLinks: "gpu0 NVLink 3", nvlink_replay_errors.
std::vector<CounterValue> read_gpu_counters(NvmlLibrary& nvml, const HostInventory& host);

}  // namespace gradhaul

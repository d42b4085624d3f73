#pragma once

// NCCL before Hopper does not trust that a GPU shows what a NIC has written in the order in which
// the host learns of it: the receiver's thread has the NIC read back one element from the GPU's
// memory, and tells the kernel when that is there (NCCL, src/transport/net.cc and net_ib: a flush
// after each receive of the Simple protocol, for GPUs of a compute capability below 9.0). Its cost
// is what posting it, fetching it, a read over PCIe and its completion take.

#include "core/cluster.h"
#include "core/communication.h"
#include "core/protocol.h"

namespace gradhaul {

inline constexpr int kHopper = 90;

// Of data that the NIC has written to the GPU's memory itself. Where it is not said what the GPU
// is, `auto` takes it for a new one.
constexpr bool flushes(Flush flush, Protocol protocol, const GpuModel& gpu) {
  if (flush == Flush::kOff || polls_data(protocol)) return false;
  return flush == Flush::kOn || (gpu.compute_capability > 0 && gpu.compute_capability < kHopper);
}

}  // namespace gradhaul

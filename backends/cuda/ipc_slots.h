#pragma once

// Receive slots in GPU memory, between processes of a host: CUDA IPC. The sender's GPU copies into
// them, within itself, over NVLink or over PCIe, as the driver has its peers.
//
// A process opens what another has by a handle of 64 bytes; it has to close it before the other
// gives it back [CUDA Driver API, cuIpcOpenMemHandle: else what happens is undefined].

#include "backends/cuda/gpu_rank_memory.h"
#include "backends/shared/device_slots.h"

namespace gradhaul {

class IpcSlots final : public DeviceSlots {
 public:
  explicit IpcSlots(const GpuRankMemory& memory) : memory_(memory) {}  // which outlives it
  Offer offer() override;
  Opened open(std::span<const std::byte> handle, Bytes size) override;
  std::unique_ptr<SlotCopier> copier(std::size_t connections) override;
  std::string path() const override { return "copies by the GPU, CUDA IPC"; }

 private:
  const GpuRankMemory& memory_;
};

}  // namespace gradhaul

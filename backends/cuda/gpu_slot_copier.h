#pragma once

// Copies by the GPU from a rank's memory into slots that it sees: of the same GPU, or of a peer.

#include <vector>

#include "backends/cuda/stream_work.h"
#include "backends/loopback/slot_copier.h"

namespace gradhaul {

class GpuSlotCopier final : public SlotCopier {
 public:
  // A stream for each connection. The device outlives it. Throws CudaError, as its calls do.
  GpuSlotCopier(const CudaDevice& device, std::size_t connections) {
    for (std::size_t i = 0; i < connections; ++i) streams_.emplace_back(device);
  }
  void copy(ConnectionId connection, std::byte* to, std::span<const std::byte> from) override {
    streams_[static_cast<std::size_t>(connection)].copy(to, from);
  }
  int take_completed(ConnectionId connection) override {
    return streams_[static_cast<std::size_t>(connection)].take_completed();
  }

 private:
  std::vector<StreamWork> streams_;
};

}  // namespace gradhaul

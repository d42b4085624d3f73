#pragma once

// A read by a NIC of a word that it has written near: as PCIe orders its requests, all that it
// wrote before is then where it belongs. A GPU before Hopper needs it before a kernel looks at what
// has arrived. It goes over a queue pair that the NIC has with itself [NCCL, src/transport/net_ib:
// the flush; CUDA, GPUDirect RDMA].

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "backends/verbs/device_memory.h"
#include "backends/verbs/rdma_rail.h"

namespace gradhaul {

// Whether arrivals in this memory are read back; `device`: nullptr where it is the host's.
bool reads_back(const VerbsSettings& settings, const DeviceMemory* device);

class ReadBack {
 public:
  using Clock = std::chrono::steady_clock;

  // Throws VerbsError where the port can't be joined to itself.
  ReadBack(VerbsLibrary& verbs, const RdmaRail& rail, const VerbsSettings& settings);

  // Begins one, from a region of this rail that a peer may read; none is under way. 0 or an errno.
  int begin(std::uint64_t address, std::uint32_t key);
  bool under_way() const { return under_way_; }
  Clock::time_point since() const { return since_; }  // it is under way
  // The status with which it has ended; nothing: not yet.
  std::optional<ibv_wc_status> take();

 private:
  struct alignas(64) Word {
    std::array<std::byte, 4> bytes{};
  };
  VerbsLibrary& verbs_;
  std::unique_ptr<Word> word_;
  MemoryRegion region_;
  CompletionQueue queue_;
  QueuePair pair_;
  bool under_way_ = false;
  Clock::time_point since_;
};

// The best way in which all of these ports reach memory of a GPU, by trying: a DMA-BUF, else peer
// memory, else none, which leaves the host's to stage in. Where arrivals have to be read back, that
// is tried, too.
DeviceReach reach_of(VerbsLibrary& verbs, const std::vector<RdmaRail>& rails,
                     const VerbsSettings& settings, std::span<std::byte> bytes,
                     const DeviceMemory& device);

}  // namespace gradhaul

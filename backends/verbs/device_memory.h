#pragma once

// Memory of a GPU as a NIC may come to reach it, told without any header of CUDA's.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace gradhaul {

// By what a NIC reads and writes the memory of ranks.
enum class MemoryPath : std::uint8_t {
  kHost,        // it is the host's, or staged there
  kDmaBuf,      // a GPU's, which the kernel shares as a DMA-BUF
  kPeerMemory,  // a GPU's, by its address, which the module nvidia-peermem makes known
};

class DeviceMemory {
 public:
  struct DmaBuf {
    int file = -1;  // for the caller to close; -1: there is none, since:
    std::string problem;
  };
  virtual ~DeviceMemory() = default;
  // One that begins where `bytes` do, which begin an allocation.
  virtual DmaBuf dma_buf(std::span<const std::byte> bytes) const = 0;
  // Work on it may see that a write has arrived before it sees all of its bytes, unless the NIC has
  // read from that memory in between.
  virtual bool needs_read_back() const = 0;
};

// What a NIC can do with memory of a GPU.
struct DeviceReach {
  MemoryPath path = MemoryPath::kHost;
  std::string why;  // nothing better; empty for the best
};

}  // namespace gradhaul

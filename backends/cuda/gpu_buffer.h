#pragma once

// Memory of a GPU, and memory of the host that it reaches by itself. Freed with their owner, which
// the device outlives.

#include <cstddef>
#include <span>

#include "backends/cuda/cuda_device.h"

namespace gradhaul {

// Address of memory of a host or of a device: both share one space.
inline CudaAddress address_of(const std::byte* bytes) {
  return reinterpret_cast<CudaAddress>(bytes);
}

// Device memory, which the host can't read or write: the span is but an address and a length. It
// begins at a multiple of 2 MiB and has whole ones, so that it can be told to other devices and to
// other processes without anything else that lies beside it.
class GpuBuffer {
 public:
  GpuBuffer() = default;
  // `what`: for the message where there is no room. Throws CudaError.
  GpuBuffer(const CudaDevice& device, Bytes size, const char* what);
  ~GpuBuffer();
  GpuBuffer(const GpuBuffer&) = delete;
  GpuBuffer& operator=(const GpuBuffer&) = delete;
  GpuBuffer(GpuBuffer&& other) noexcept;
  GpuBuffer& operator=(GpuBuffer&& other) noexcept;
  std::span<std::byte> bytes() const { return bytes_; }
  // What is allocated for so many bytes.
  static std::size_t allocated(std::size_t bytes);

 private:
  const CudaDevice* device_ = nullptr;
  std::span<std::byte> bytes_;
};

// Host memory that stays where it is, so that the GPU's copy engines reach it.
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  PinnedBuffer(const CudaDevice& device, Bytes size);  // throws CudaError
  ~PinnedBuffer();
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;
  PinnedBuffer(PinnedBuffer&& other) noexcept;
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept;
  std::span<std::byte> bytes() const { return bytes_; }

 private:
  const CudaDevice* device_ = nullptr;
  std::span<std::byte> bytes_;
};

}  // namespace gradhaul

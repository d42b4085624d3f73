#include "backends/cuda/gpu_buffer.h"

#include <array>
#include <cstdio>
#include <utility>

namespace gradhaul {
namespace {

constexpr std::size_t kGranularity = std::size_t{2} << 20;

std::string gigabytes(std::size_t bytes) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f GB", static_cast<double>(bytes) / 1e9);
  return text.data();
}

}  // namespace

GpuBuffer::GpuBuffer(const CudaDevice& device, Bytes size, const char* what) : device_(&device) {
  if (size.count == 0) return;
  const std::size_t whole = allocated(static_cast<std::size_t>(size.count));
  const CudaDriver& driver = device.driver();
  CudaAddress address = 0;
  const CudaResult result = driver.allocate(&address, whole);
  if (result == kCudaOutOfMemory) {
    std::size_t free = 0;
    std::size_t total = 0;
    driver.memory_info(&free, &total);
    throw CudaError(name_of(device.gpu()) + " has no " + gigabytes(whole) + " left for " + what +
                    ": " + gigabytes(free) + " of its " + gigabytes(total) +
                    " are free. Take a smaller size (--set workload.size=64MiB), or fewer ranks "
                    "to a GPU; nvidia-smi shows who else uses it");
  }
  device.check(result, std::string("no memory for ") + what);
  bytes_ = {reinterpret_cast<std::byte*>(address), static_cast<std::size_t>(size.count)};
  // What other devices read and write has to be there when a copy is said to be done
  // [CUDA, GPUDirect RDMA, 2.4: Synchronization and Memory Ordering].
  const int synchronous = 1;
  driver.set_pointer_attribute(&synchronous, kCudaSyncMemops, address);
}

std::size_t GpuBuffer::allocated(std::size_t bytes) {
  return (bytes + kGranularity - 1) / kGranularity * kGranularity;
}

GpuBuffer::~GpuBuffer() {
  if (!bytes_.empty()) device_->driver().free(address_of(bytes_.data()));
}

GpuBuffer::GpuBuffer(GpuBuffer&& other) noexcept
    : device_(other.device_), bytes_(std::exchange(other.bytes_, {})) {}

GpuBuffer& GpuBuffer::operator=(GpuBuffer&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

PinnedBuffer::PinnedBuffer(const CudaDevice& device, Bytes size) : device_(&device) {
  if (size.count == 0) return;
  void* address = nullptr;
  const auto length = static_cast<std::size_t>(size.count);
  device.check(device.driver().allocate_host(&address, length, kCudaHostPortable),
               "no " + gigabytes(length) + " of pinned host memory to stage through");
  bytes_ = {static_cast<std::byte*>(address), length};
}

PinnedBuffer::~PinnedBuffer() {
  if (!bytes_.empty()) device_->driver().free_host(bytes_.data());
}

PinnedBuffer::PinnedBuffer(PinnedBuffer&& other) noexcept
    : device_(other.device_), bytes_(std::exchange(other.bytes_, {})) {}

PinnedBuffer& PinnedBuffer::operator=(PinnedBuffer&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace gradhaul

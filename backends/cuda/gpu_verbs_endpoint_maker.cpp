#include "backends/cuda/gpu_verbs_endpoint_maker.h"

namespace gradhaul {
namespace {

constexpr int kHopper = 9;

}  // namespace

DeviceMemory::DmaBuf GpuMemoryExport::dma_buf(std::span<const std::byte> bytes) const {
  DmaBuf shared;
  const CudaDriver& driver = device_.driver();
  const std::string who = name_of(device_.gpu());
  if (!device_.gpu().dma_buf) {
    shared.problem = who +
                     " shares no memory as a DMA-BUF (which takes NVIDIA's open kernel modules, "
                     "CUDA 11.7 and Linux 5.12)";
    return shared;
  }
  const CudaResult result =
      driver.range_handle(&shared.file, address_of(bytes.data()),
                          GpuBuffer::allocated(bytes.size()), kCudaDmaBufFile, 0);
  if (result != kCudaSuccess) {
    shared.file = -1;
    shared.problem = who + " gives no DMA-BUF of its memory: " + error_text(driver, result);
  }
  return shared;
}

bool GpuMemoryExport::needs_read_back() const { return device_.gpu().capability_major < kHopper; }

std::optional<std::string> GpuVerbsEndpointMaker::why_staged(const EndpointRequest& request) {
  if (!export_) export_.emplace(device_());
  const DeviceReach reach = verbs_.reach(request, &*export_);
  if (reach.path != MemoryPath::kHost) return std::nullopt;
  return reach.why;
}

std::unique_ptr<Endpoint> GpuVerbsEndpointMaker::make(const EndpointRequest& request) {
  const auto why = why_staged(request);
  if (!why) return verbs_.make(request);
  staged_.emplace(verbs_, device_, *why);
  return staged_->make(request);
}

}  // namespace gradhaul

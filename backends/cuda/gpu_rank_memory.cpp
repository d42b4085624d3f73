#include "backends/cuda/gpu_rank_memory.h"

#include "core/assert.h"

namespace gradhaul {

CudaDevice& RankGpu::device() {
  if (!device_) {
    const CudaDriver driver = open_cuda_driver(library_);
    count_ = static_cast<int>(list_gpus(driver).size());
    device_ = std::make_unique<CudaDevice>(driver, place_ % count_, image_);
  }
  return *device_;
}

void GpuRankMemory::prepare(const RankMemorySizes& sizes) {
  GRADHAUL_ASSERT(!sizes.in_place || sizes.input <= sizes.output,
                  "in place, the input is the beginning of the output");
  const CudaDevice& device = gpu_.device();
  reducer_.reset();
  input_ = GpuBuffer();
  output_ = GpuBuffer();
  slots_.reset();
  output_ = GpuBuffer(device, sizes.output, "a rank's output");
  slots_ = std::make_shared<GpuBuffer>(device, sizes.slots, "a rank's receive slots");
  if (!sizes.in_place) input_ = GpuBuffer(device, sizes.input, "a rank's input");
  regions_ = {sizes.in_place ? output_.bytes() : input_.bytes(), output_.bytes(), slots_->bytes()};
  if (!copies_) copies_.emplace(device);
  reducer_.emplace(device, regions_);
}

void GpuRankMemory::copy(std::byte* to, std::span<const std::byte> from) {
  copies_->copy(to, from);
  copies_->finish();
}

void GpuRankMemory::write(BufferRef to, std::span<const std::byte> bytes) {
  copy(bytes_at(regions_, to, {static_cast<std::int64_t>(bytes.size())}).data(), bytes);
}

void GpuRankMemory::read(BufferRef from, std::span<std::byte> bytes) {
  copy(bytes.data(), bytes_at(regions_, from, {static_cast<std::int64_t>(bytes.size())}));
}

std::vector<std::pair<std::string, std::string>> GpuRankMemory::facts() const {
  const GpuDescription& gpu = gpu_.device().gpu();
  return {{"memory", "gpu"},
          {"gpu", gpu.name + " at " + gpu.pci + ", compute capability " +
                      std::to_string(gpu.capability_major) + "." +
                      std::to_string(gpu.capability_minor)}};
}

}  // namespace gradhaul

#pragma once

// A rank's data in the memory of a GPU, added up there.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/cuda/gpu_buffer.h"
#include "backends/cuda/gpu_reducer.h"
#include "backends/measure/rank_memory.h"

namespace gradhaul {

// The GPU of a rank, opened when it is first asked for: so what is missing is told where all ranks
// hear of it.
class RankGpu {
 public:
  // Ranks of a node take its GPUs in turn: rank `place` of it GPU `place` mod their number.
  explicit RankGpu(int place, std::string library = "libcuda.so.1",
                   const void* image = reduce_kernel_image())
      : place_(place), library_(std::move(library)), image_(image) {}
  // By the thread that uses it. Throws CudaError.
  CudaDevice& device();
  // Of the node, once the device is open.
  int count() const { return count_; }

 private:
  int place_;
  std::string library_;
  const void* image_;
  int count_ = 0;
  std::unique_ptr<CudaDevice> device_;
};

class GpuRankMemory final : public RankMemory {
 public:
  explicit GpuRankMemory(RankGpu& gpu) : gpu_(gpu) {}  // which outlives it
  // Throws CudaError, also where there is no GPU.
  void prepare(const RankMemorySizes& sizes) override;
  HostMemory regions() const override { return regions_; }
  // Where the slots of regions() lie. They outlast the next prepare() with whoever holds this.
  std::shared_ptr<const GpuBuffer> slots() const { return slots_; }
  const CudaDevice& device() const { return gpu_.device(); }
  Reducer& reducer() override { return *reducer_; }
  bool poll(CompletionSink& sink) override { return reducer_->poll(sink); }
  bool busy() const override { return reducer_ && reducer_->busy(); }
  bool on_gpu() const override { return true; }
  void write(BufferRef to, std::span<const std::byte> bytes) override;
  void read(BufferRef from, std::span<std::byte> bytes) override;
  std::vector<std::pair<std::string, std::string>> facts() const override;

 private:
  void copy(std::byte* to, std::span<const std::byte> from);

  RankGpu& gpu_;
  GpuBuffer input_;
  GpuBuffer output_;
  std::shared_ptr<const GpuBuffer> slots_;
  HostMemory regions_;
  std::optional<GpuReducer> reducer_;
  std::optional<StreamWork> copies_;  // of write() and read()
};

}  // namespace gradhaul

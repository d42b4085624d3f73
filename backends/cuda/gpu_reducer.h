#pragma once

// A Reducer over a GPU's memory: each stream of requests is a stream of the GPU, on which kernels
// and copies follow each other; streams go side by side.

#include <cstdint>
#include <vector>

#include "backends/cpu/host_memory.h"
#include "backends/cuda/stream_work.h"
#include "core/completion.h"
#include "core/reducer.h"

namespace gradhaul {

class GpuReducer final : public Reducer {
 public:
  // `memory` holds addresses of the device, which outlives it.
  GpuReducer(const CudaDevice& device, const HostMemory& memory);

  // Throws CudaError where a kernel or a copy does not start.
  void post_reduce(const ReduceRequest& request) override;
  // Delivers kReduceDone of what has been completed; whether there was anything. Never blocks.
  // Throws CudaError where some work failed.
  bool poll(CompletionSink& sink);
  bool busy() const;

 private:
  StreamWork& stream(std::int32_t number);
  void launch(const ReduceRequest& request, StreamWork& work);

  const CudaDevice& device_;
  HostMemory memory_;
  std::vector<StreamWork> streams_;
};

}  // namespace gradhaul

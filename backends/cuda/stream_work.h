#pragma once

// Copies and kernels of one stream, which complete in the order in which they were begun, without
// anybody waiting for them: events are asked whether they have come. What has been begun since the
// last look shares one event.

#include <cstddef>
#include <deque>
#include <span>
#include <vector>

#include "backends/cuda/cuda_device.h"

namespace gradhaul {

class StreamWork {
 public:
  explicit StreamWork(const CudaDevice& device);  // which outlives it; throws CudaError
  ~StreamWork();
  StreamWork(const StreamWork&) = delete;
  StreamWork& operator=(const StreamWork&) = delete;
  StreamWork(StreamWork&& other) noexcept;
  StreamWork& operator=(StreamWork&&) = delete;

  CudaStreamHandle stream() const { return stream_; }
  // `stream()` has been given one piece of work more.
  void count_one() { ++unrecorded_; }
  // Begins a copy between memory of any kind, which stays as it is until it is completed. Throws
  // CudaError.
  void copy(std::byte* to, std::span<const std::byte> from);
  // How many pieces of work are completed that no call before has told of. Never blocks. Throws
  // CudaError where one failed.
  int take_completed();
  // Waits until all of it is completed, of which nobody is told any more. Throws CudaError.
  void finish();
  // How many are under way.
  int pending() const { return recorded_ + unrecorded_; }

 private:
  struct Batch {
    CudaEventHandle event = nullptr;
    int count = 0;
  };
  CudaEventHandle take_event();

  const CudaDevice* device_;
  CudaStreamHandle stream_ = nullptr;
  std::deque<Batch> batches_;
  std::vector<CudaEventHandle> idle_events_;
  int recorded_ = 0;  // by all batches together
  int unrecorded_ = 0;
};

}  // namespace gradhaul

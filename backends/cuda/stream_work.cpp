#include "backends/cuda/stream_work.h"

#include <utility>

#include "backends/cuda/gpu_buffer.h"

namespace gradhaul {

StreamWork::StreamWork(const CudaDevice& device) : device_(&device) {
  device.check(device.driver().create_stream(&stream_, kCudaStreamNonBlocking), "no stream");
}

StreamWork::~StreamWork() {
  if (stream_ == nullptr) return;
  const CudaDriver& driver = device_->driver();
  // What it works on may be freed next.
  if (pending() > 0) driver.synchronize_stream(stream_);
  for (const Batch& batch : batches_) driver.destroy_event(batch.event);
  for (CudaEventHandle event : idle_events_) driver.destroy_event(event);
  driver.destroy_stream(stream_);
}

StreamWork::StreamWork(StreamWork&& other) noexcept
    : device_(other.device_),
      stream_(std::exchange(other.stream_, nullptr)),
      batches_(std::move(other.batches_)),
      idle_events_(std::move(other.idle_events_)),
      recorded_(other.recorded_),
      unrecorded_(other.unrecorded_) {}

void StreamWork::copy(std::byte* to, std::span<const std::byte> from) {
  device_->check(
      device_->driver().copy(address_of(to), address_of(from.data()), from.size(), stream_),
      "a copy of " + std::to_string(from.size()) + " bytes does not start");
  count_one();
}

CudaEventHandle StreamWork::take_event() {
  CudaEventHandle event = nullptr;
  if (idle_events_.empty()) {
    device_->check(device_->driver().create_event(&event, kCudaEventWithoutTiming), "no event");
    return event;
  }
  event = idle_events_.back();
  idle_events_.pop_back();
  return event;
}

int StreamWork::take_completed() {
  const CudaDriver& driver = device_->driver();
  if (unrecorded_ > 0) {
    batches_.push_back({take_event(), unrecorded_});
    device_->check(driver.record_event(batches_.back().event, stream_), "no event is recorded");
    recorded_ += std::exchange(unrecorded_, 0);
  }
  int completed = 0;
  while (!batches_.empty()) {
    const Batch batch = batches_.front();
    const CudaResult result = driver.query_event(batch.event);
    if (result == kCudaNotReady) break;
    device_->check(result, "a reduction or a copy failed");
    idle_events_.push_back(batch.event);
    batches_.pop_front();
    completed += batch.count;
  }
  recorded_ -= completed;
  return completed;
}

void StreamWork::finish() {
  device_->check(device_->driver().synchronize_stream(stream_), "a reduction or a copy failed");
  for (const Batch& batch : batches_) idle_events_.push_back(batch.event);
  batches_.clear();
  recorded_ = 0;
  unrecorded_ = 0;
}

}  // namespace gradhaul

#pragma once

// A rank's end of connections over a transport that takes host memory alone, while the rank's data
// is a GPU's: what is written is copied to pinned host memory first, and written from there; what
// arrives there is copied into the GPU's slot before anybody hears of it.
//
// Each connection has as much room to stage in as it has slots, and takes it in the order of its
// writes, as slots are (core/slot_window.h).

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/cuda/gpu_buffer.h"
#include "backends/cuda/stream_work.h"
#include "backends/measure/endpoint_maker.h"

namespace gradhaul {

class StagedEndpoint final : public Endpoint {
 public:
  struct Staging {
    // Of sending connections, one after the other, `slots` of `slot_size` each.
    std::span<std::byte> outgoing;
    std::span<std::byte> slots;  // laid out as the rank's are
    std::string why;             // it is staged; for the result
  };
  // `inner` is made for the same connections, whose memory is the staging: its input and output
  // `outgoing`, its slots `slots`. The device and the memory outlive it. Throws CudaError.
  StagedEndpoint(const CudaDevice& device, const EndpointRequest& request, const Staging& staging,
                 std::unique_ptr<Endpoint> inner);

  TransportLimits limits() const override { return inner_->limits(); }
  void post_write(const WriteRequest& request) override;
  void flush() override;
  bool poll(CompletionSink& sink) override;
  void restart() override;
  void wait(std::chrono::microseconds most) override;
  std::optional<RankFailure> failure() const override { return inner_->failure(); }
  std::vector<std::pair<std::string, std::string>> facts() const override;

 private:
  struct Connection {
    explicit Connection(const CudaDevice& device) : copies(device) {}
    StreamWork copies;
    bool sends = false;
    Bytes outgoing;  // where its staging begins in Staging::outgoing; sending
    std::span<std::byte> staging;
    std::span<std::byte> slots;  // of the GPU; receiving
    // Sending: done <= started <= posted; what is not started waits for room.
    std::deque<WriteRequest> waiting;
    std::deque<WriteRequest> copying;
    std::int64_t posted = 0;
    std::int64_t started = 0;
    std::int64_t done = 0;
    // Receiving.
    std::int64_t arrived = 0;
    std::deque<std::int64_t> lengths;  // of what is being copied
    bool failed = false;
  };
  class Arrivals;
  void start_copies(Connection& connection);
  void on_inner(const Completion& completion, CompletionSink& sink);
  bool take_copied(Connection& connection, ConnectionId id, CompletionSink& sink);

  HostMemory memory_;
  Bytes slot_size_;
  int slots_;
  std::string why_;
  std::vector<Connection> connections_;
  std::unique_ptr<Endpoint> inner_;
};

// Endpoints that stage for those of another maker.
class StagedEndpointMaker final : public EndpointMaker {
 public:
  // All outlive it. `device` is asked for once memory has been prepared. `why`: it is staged.
  StagedEndpointMaker(EndpointMaker& inner, std::function<const CudaDevice&()> device,
                      std::string why)
      : inner_(inner), device_(std::move(device)), why_(std::move(why)) {}
  // Throws CudaError, and what the other one throws.
  std::unique_ptr<Endpoint> make(const EndpointRequest& request) override;
  std::optional<std::chrono::nanoseconds> time_registration(std::span<std::byte> memory) override {
    return inner_.time_registration(memory);
  }
  CountedAtPorts port_counts() override { return inner_.port_counts(); }

 private:
  EndpointMaker& inner_;
  std::function<const CudaDevice&()> device_;
  std::string why_;
  // From one endpoint to the next: pinning takes long.
  PinnedBuffer outgoing_;
  PinnedBuffer slots_;
};

}  // namespace gradhaul

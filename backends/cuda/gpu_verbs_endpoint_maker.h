#pragma once

// Endpoints over RDMA verbs for data in a GPU's memory: NICs reach it themselves where they can,
// else it is staged through pinned host memory; the endpoint's facts say which, and why.

#include <functional>
#include <optional>
#include <string>

#include "backends/cuda/staged_endpoint.h"
#include "backends/verbs/verbs_endpoint_maker.h"

namespace gradhaul {

// Of buffers of a GPU, each of which begins where it was allocated. Before Hopper (compute
// capability 9.0) they are read back [NCCL, src/transport/net_ib; CUDA, GPUDirect RDMA].
class GpuMemoryExport final : public DeviceMemory {
 public:
  explicit GpuMemoryExport(const CudaDevice& device) : device_(device) {}
  DmaBuf dma_buf(std::span<const std::byte> bytes) const override;
  bool needs_read_back() const override;

 private:
  const CudaDevice& device_;
};

class GpuVerbsEndpointMaker final : public EndpointMaker {
 public:
  // Both outlive it. `device` is asked for once memory has been prepared.
  GpuVerbsEndpointMaker(VerbsEndpointMaker& verbs, std::function<const CudaDevice&()> device)
      : verbs_(verbs), device_(std::move(device)) {}
  // Throws CudaError, and what the verbs' maker throws.
  std::unique_ptr<Endpoint> make(const EndpointRequest& request) override;
  std::optional<std::chrono::nanoseconds> time_registration(std::span<std::byte> memory) override {
    return verbs_.time_registration(memory);
  }
  CountedAtPorts port_counts() override { return verbs_.port_counts(); }

 private:
  // Nothing: NICs reach it.
  std::optional<std::string> why_staged(const EndpointRequest& request);

  VerbsEndpointMaker& verbs_;
  std::function<const CudaDevice&()> device_;
  std::optional<GpuMemoryExport> export_;
  std::optional<StagedEndpointMaker> staged_;
};

// Endpoints of the same devices for host memory, beside those for a GPU's.
class HostVerbsEndpointMaker final : public EndpointMaker {
 public:
  explicit HostVerbsEndpointMaker(VerbsEndpointMaker& verbs)
      : verbs_(verbs) {}  // which outlives it
  // Throws what the verbs' maker throws.
  std::unique_ptr<Endpoint> make(const EndpointRequest& request) override {
    verbs_.reach(request, nullptr);
    return verbs_.make(request);
  }
  CountedAtPorts port_counts() override { return verbs_.port_counts(); }

 private:
  VerbsEndpointMaker& verbs_;
};

}  // namespace gradhaul

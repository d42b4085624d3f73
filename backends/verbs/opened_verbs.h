#pragma once

// The backend over a library of verbs, be it the real one or a fake.

#include <memory>
#include <string>
#include <vector>

#include "backends/verbs/rdma_rail.h"
#include "backends/verbs/read_back.h"
#include "backends/verbs/verbs_backend.h"

namespace gradhaul {

class OpenedVerbs final : public VerbsBackend {
 public:
  OpenedVerbs(std::unique_ptr<VerbsLibrary> library, const VerbsSettings& settings);

  std::unique_ptr<Endpoint> make_endpoint(const VerbsWiring& wiring, Exchange& exchange) override;
  DeviceReach reach(std::span<std::byte> bytes, const DeviceMemory& device) override {
    return reach_of(*library_, rails_, settings_, bytes, device);
  }
  std::chrono::nanoseconds time_registration(std::span<std::byte> memory) override;
  ServedDevice device_of(int nic) const override;
  const std::vector<std::string>& notes() const override { return notes_; }
  std::vector<std::pair<std::string, std::int64_t>> counters() const override;

 private:
  std::unique_ptr<VerbsLibrary> library_;
  VerbsSettings settings_;
  std::vector<std::string> notes_;
  std::vector<RdmaRail> rails_;
};

}  // namespace gradhaul

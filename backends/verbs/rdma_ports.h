#pragma once

// The RDMA ports of this host that can be used, and why others can't.

#include <cstdint>
#include <string>
#include <vector>

#include "backends/verbs/verbs_objects.h"

namespace gradhaul {

// Names of devices as NCCL_IB_HCA lists them: `mlx5_0,mlx5_1:2` (how names begin, and a port), with
// ^ before it all but these, with = exact names, ^= both.
class DeviceFilter {
 public:
  // Throws VerbsError.
  explicit DeviceFilter(const std::string& text);
  bool takes(const std::string& device, int port) const;

 private:
  struct Entry {
    std::string name;
    int port = 0;  // 0: any
  };
  bool excludes_ = false;
  bool exact_ = false;
  std::vector<Entry> entries_;
};

struct VerbsPort {
  std::string device;
  std::uint8_t port = 1;
  std::string pci_path;
  DeviceContext context;  // of this port alone
  ibv_device_attr device_attributes{};
  ibv_port_attr attributes{};
  std::string name() const { return device + " port " + std::to_string(port); }
};

struct PortSurvey {
  std::vector<VerbsPort> usable;      // by PCI path, name and port: alike on all ranks of a host
  std::vector<std::string> skipped;   // "mlx5_1 port 1: DOWN (Polling), not ACTIVE: …"
  std::vector<std::string> left_out;  // by the filter
};

// Throws VerbsError where devices can't be listed.
PortSurvey survey_ports(VerbsLibrary& verbs, const DeviceFilter& filter);

// 1024 of IBV_MTU_1024, and back, rounded down.
int mtu_bytes(ibv_mtu mtu);
ibv_mtu mtu_of(std::int64_t bytes);

}  // namespace gradhaul

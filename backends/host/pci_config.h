#pragma once

// What the configuration space of a PCI function says (PCI Express Base Specification 5.0, section
// 7): the PCI Express capability and Access Control Services. Linux shows the first 64 bytes to
// everybody and the rest to root alone.

#include <cstdint>
#include <optional>
#include <string_view>

namespace gradhaul {

enum class PciePortType : std::uint8_t { kEndpoint, kRootPort, kUpstream, kDownstream, kOther };

struct ExpressCapability {
  PciePortType type = PciePortType::kOther;
  int max_payload_supported = 0;  // bytes
  int max_payload = 0;
  int max_read_request = 0;
  bool relaxed_ordering = false;
};

// The bits that send peer-to-peer traffic up to the root complex.
struct AccessControl {
  int capability = 0;
  int control = 0;
  static constexpr int kRequestRedirect = 0x04;
  static constexpr int kCompletionRedirect = 0x08;
  static constexpr int kUpstreamForwarding = 0x10;
  bool redirects() const { return (control & kRequestRedirect) != 0; }
};

struct PciConfig {
  bool capabilities_shown = false;  // more than the first 64 bytes
  bool extended_shown = false;      // more than the first 256
  std::optional<ExpressCapability> express;
  std::optional<AccessControl> access_control;
};

// Never fails: what is cut off or makes no sense is not there.
PciConfig parse_pci_config(std::string_view bytes);

}  // namespace gradhaul

#include "backends/host/pci_config.h"

#include <cstddef>

namespace gradhaul {
namespace {

constexpr std::size_t kHeader = 64;
constexpr std::size_t kLegacySpace = 256;
constexpr unsigned kExpressId = 0x10;
constexpr unsigned kAccessControlId = 0x0d;
// No chain is longer than the space has room for; a damaged one may be a circle.
constexpr int kMostCapabilities = 48;
constexpr int kMostExtended = 480;

// Little-endian; all ones where the space ends, as a read of nothing gives.
unsigned word_at(std::string_view bytes, std::size_t at, std::size_t size) {
  unsigned value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const unsigned byte = at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0xffU;
    value |= byte << (8 * i);
  }
  return value;
}

// Sizes are coded as 128 << n, with two codes that mean nothing.
int size_of_code(unsigned code) { return code <= 5 ? 128 << code : 0; }

PciePortType port_type(unsigned code) {
  switch (code) {
    case 0x0:
    case 0x1:
    case 0x9:
      return PciePortType::kEndpoint;
    case 0x4:
      return PciePortType::kRootPort;
    case 0x5:
      return PciePortType::kUpstream;
    case 0x6:
      return PciePortType::kDownstream;
    default:
      return PciePortType::kOther;
  }
}

std::optional<ExpressCapability> parse_express(std::string_view bytes, std::size_t at) {
  if (at + 10 > bytes.size()) return std::nullopt;
  ExpressCapability express;
  express.type = port_type(word_at(bytes, at + 2, 2) >> 4 & 0xf);
  const unsigned control = word_at(bytes, at + 8, 2);
  express.max_payload_supported = size_of_code(word_at(bytes, at + 4, 4) & 0x7);
  express.max_payload = size_of_code(control >> 5 & 0x7);
  express.max_read_request = size_of_code(control >> 12 & 0x7);
  express.relaxed_ordering = (control >> 4 & 1) != 0;
  if (express.max_payload_supported == 0 || express.max_payload == 0 ||
      express.max_read_request == 0) {
    return std::nullopt;
  }
  return express;
}

std::optional<ExpressCapability> find_express(std::string_view bytes) {
  constexpr unsigned kHasCapabilities = 0x10;
  if ((word_at(bytes, 0x06, 2) & kHasCapabilities) == 0) return std::nullopt;
  std::size_t at = word_at(bytes, 0x34, 1) & 0xfcU;
  for (int i = 0; i < kMostCapabilities && at >= kHeader && at + 2 <= bytes.size(); ++i) {
    if (word_at(bytes, at, 1) == kExpressId) return parse_express(bytes, at);
    at = word_at(bytes, at + 1, 1) & 0xfcU;
  }
  return std::nullopt;
}

std::optional<AccessControl> find_access_control(std::string_view bytes) {
  std::size_t at = kLegacySpace;
  for (int i = 0; i < kMostExtended && at >= kLegacySpace && at + 8 <= bytes.size(); ++i) {
    const unsigned header = word_at(bytes, at, 4);
    if ((header & 0xffffU) == kAccessControlId) {
      AccessControl access;
      access.capability = static_cast<int>(word_at(bytes, at + 4, 2));
      access.control = static_cast<int>(word_at(bytes, at + 6, 2));
      // What a port cannot do it does not do, whatever stands there.
      if ((access.control & ~access.capability) != 0) return std::nullopt;
      return access;
    }
    at = header >> 20 & 0xffcU;
  }
  return std::nullopt;
}

}  // namespace

PciConfig parse_pci_config(std::string_view bytes) {
  PciConfig config;
  // A function that is off the bus reads as ones.
  if (bytes.size() < kHeader || word_at(bytes, 0, 2) == 0xffffU) return config;
  config.capabilities_shown = bytes.size() > kHeader;
  config.extended_shown = bytes.size() > kLegacySpace;
  if (config.capabilities_shown) config.express = find_express(bytes.substr(0, kLegacySpace));
  if (config.extended_shown) config.access_control = find_access_control(bytes);
  return config;
}

}  // namespace gradhaul

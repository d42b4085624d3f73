#include "backends/host/pci_topology.h"

#include <algorithm>

namespace gradhaul {
namespace {

// The lesser of two, where both are known.
template <typename Number>
std::optional<Number> lesser(std::optional<Number> left, std::optional<Number> right) {
  if (!left || !right) return left ? left : right;
  return std::min(*left, *right);
}

std::optional<PcieLink> link_of(std::optional<double> speed, std::optional<int> width) {
  if (!speed || !width) return std::nullopt;
  const auto generation = pcie_generation(*speed);
  const int lanes = *width;
  const bool whole = lanes == 1 || lanes == 2 || lanes == 4 || lanes == 8 || lanes == 16;
  if (!generation || !whole) return std::nullopt;
  return PcieLink{*generation, lanes};
}

}  // namespace

std::vector<int> bridges_above(const HostInventory& host, int function) {
  std::vector<int> above;
  int at = host.pci[function].parent;
  while (at >= 0 && above.size() < host.pci.size()) {
    above.push_back(at);
    at = host.pci[at].parent;
  }
  return above;
}

bool is_upstream_port(const HostInventory& host, int function) {
  const PciFunction& port = host.pci[function];
  if (!port.is_bridge()) return false;
  if (port.config.express && port.config.express->type != PciePortType::kOther) {
    return port.config.express->type == PciePortType::kUpstream;
  }
  return bridges_above(host, function).size() % 2 == 1;
}

std::vector<int> switches_above(const HostInventory& host, int function) {
  std::vector<int> switches = bridges_above(host, function);
  switches.erase(std::remove_if(switches.begin(), switches.end(),
                                [&](int bridge) { return !is_upstream_port(host, bridge); }),
                 switches.end());
  return switches;
}

std::optional<PcieDistance> distance_between(const HostInventory& host, int left, int right) {
  const std::vector<int> above_left = bridges_above(host, left);
  const std::vector<int> above_right = bridges_above(host, right);
  for (std::size_t i = 0; i < above_left.size(); ++i) {
    const auto shared = std::find(above_right.begin(), above_right.end(), above_left[i]);
    if (shared == above_right.end()) continue;
    const auto j = shared - above_right.begin();
    return i <= 1 && j <= 1 ? PcieDistance::kSameSwitch : PcieDistance::kSameRootPort;
  }
  const std::optional<int> left_socket = host.socket_of(host.pci[left]);
  const std::optional<int> right_socket = host.socket_of(host.pci[right]);
  if (left_socket && right_socket && *left_socket != *right_socket) {
    return PcieDistance::kOtherSocket;
  }
  if (above_left.empty() || above_right.empty()) return std::nullopt;
  if (left_socket && right_socket) return PcieDistance::kSameSocket;
  if (host.pci[left].root == host.pci[right].root) return PcieDistance::kSameSocket;
  return std::nullopt;
}

PcieLinkCheck check_link(const HostInventory& host, int function) {
  const PciFunction& end = host.pci[function];
  PcieLinkCheck check{end.link.speed, end.link.max_speed, end.link.width, end.link.max_width};
  if (end.parent < 0) return check;
  const PcieLinkState& port = host.pci[end.parent].link;
  if (!check.speed) check.speed = port.speed;
  if (!check.width) check.width = port.width;
  check.limit_speed = lesser(check.limit_speed, port.max_speed);
  check.limit_width = lesser(check.limit_width, port.max_width);
  return check;
}

double pcie_payload_rate(double speed, int width, int max_payload) {
  const bool early = speed < 8;
  const double coding = early ? 8.0 / 10 : speed < 64 ? 128.0 / 130 : 242.0 / 256;
  const double overhead = (early ? 24 : 26) + 16.0 / 4;
  return speed * width / 8 * coding * max_payload / (max_payload + overhead);
}

std::optional<int> pcie_generation(double speed) {
  int generation = 1;
  for (const double each : {2.5, 5.0, 8.0, 16.0, 32.0, 64.0}) {
    if (speed == each) return generation;
    ++generation;
  }
  return std::nullopt;
}

std::optional<PcieLink> running_link(const HostInventory& host, int function) {
  const PcieLinkCheck check = check_link(host, function);
  return link_of(check.speed, check.width);
}

std::optional<PcieLink> limit_link(const HostInventory& host, int function) {
  const PcieLinkCheck check = check_link(host, function);
  return link_of(check.limit_speed, check.limit_width);
}

}  // namespace gradhaul

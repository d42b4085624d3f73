#include "backends/host/rdma_reader.h"

#include <algorithm>

#include "backends/host/pci_reader.h"
#include "backends/host/priority_reader.h"

namespace gradhaul {
namespace {

constexpr int kMostGids = 256;
constexpr const char* kNoGid = "0000:0000:0000:0000:0000:0000:0000:0000";

// The number before the colon: "4: ACTIVE".
std::optional<int> numbered_state(const std::string& text) {
  const auto number = whole_number(std::string_view(text).substr(0, text.find(':')));
  if (!number || *number < 0 || *number > 15 || text.find(':') == std::string::npos) {
    return std::nullopt;
  }
  return static_cast<int>(*number);
}

// Lanes in "400 Gb/sec (4X NDR)".
std::optional<int> lanes_of_rate(const std::string& text) {
  const std::size_t open = text.find('(');
  if (open == std::string::npos) return std::nullopt;
  const auto lanes = leading_number(std::string_view(text).substr(open + 1));
  if (!lanes || *lanes < 1 || *lanes > 12 || text.find('X', open) == std::string::npos) {
    return std::nullopt;
  }
  return static_cast<int>(*lanes);
}

void read_gids(const HostTree& tree, RdmaPort& port) {
  const std::vector<std::string> entries = tree.list(port.folder + "/gids");
  bool whole = !entries.empty();
  std::int64_t expected = 0;
  for (const std::string& entry : entries) {
    const auto index = whole_number(entry);
    if (!index || *index < 0 || *index >= kMostGids) continue;
    // Tables have no gaps.
    whole = whole && *index == expected++;
    RdmaGid gid;
    gid.index = static_cast<int>(*index);
    gid.gid = tree.read(port.folder + "/gids/" + entry).text;
    if (gid.gid.size() != 39) {
      whole = false;
      continue;
    }
    if (gid.gid == kNoGid) continue;
    // Entries that belong to another network namespace cannot be read; they are not ours then.
    gid.type = tree.read(port.folder + "/gid_attrs/types/" + entry).text;
    gid.netdev = tree.read(port.folder + "/gid_attrs/ndevs/" + entry).text;
    port.gids.push_back(gid);
  }
  port.gids_listed = whole;
}

RdmaPort read_port(const HostTree& tree, const RdmaDevice& device, const std::string& number) {
  RdmaPort port;
  port.number = static_cast<int>(whole_number(number).value_or(0));
  port.folder = device.folder + "/ports/" + number;
  port.state_text = tree.read(port.folder + "/state").text;
  port.state = numbered_state(port.state_text);
  port.physical_text = tree.read(port.folder + "/phys_state").text;
  port.physical_state = numbered_state(port.physical_text);
  port.rate_text = tree.read(port.folder + "/rate").text;
  const auto rate = leading_number(port.rate_text);
  if (rate && *rate > 0 && *rate < 1e5 && port.rate_text.find("Gb/sec") != std::string::npos) {
    port.rate = rate;
    port.width = lanes_of_rate(port.rate_text);
  }
  port.link_layer = tree.read(port.folder + "/link_layer").text;
  port.sm_lid = tree.number(port.folder + "/sm_lid");
  read_gids(tree, port);
  // NVIDIA's own driver package: "Global tclass=106".
  const FileText traffic_class = tree.read(device.folder + "/tc/" + number + "/traffic_class");
  const std::size_t equals = traffic_class.text.find("tclass=");
  if (equals != std::string::npos) {
    const auto value = leading_number(std::string_view(traffic_class.text).substr(equals + 7));
    if (value && *value >= 0 && *value <= 255) port.traffic_class = static_cast<int>(*value);
  }
  return port;
}

void read_bond(const HostTree& tree, NetDevice& device) {
  const std::string& folder = device.folder;
  const std::vector<std::string> mode = words_of(tree.read(folder + "/bonding/mode").text);
  if (!mode.empty()) device.bond_mode = mode.front();
  const std::vector<std::string> hash =
      words_of(tree.read(folder + "/bonding/xmit_hash_policy").text);
  if (!hash.empty()) device.bond_hash = hash.front();
  device.members = words_of(tree.read(folder + "/bonding/slaves").text);
  device.bond = last_part(tree.resolved(folder + "/master"));
  if (!device.bond.empty()) {
    device.bond_state = tree.read(folder + "/bonding_slave/mii_status").text;
  }
}

void read_congestion_marking(const HostTree& tree, NetDevice& device) {
  for (const std::string& priority : tree.list(device.folder + "/ecn/roce_np/enable")) {
    const auto enabled = tree.number(device.folder + "/ecn/roce_np/enable/" + priority);
    if (!enabled) continue;
    device.marks_congestion = device.marks_congestion.value_or(false) || *enabled != 0;
  }
}

}  // namespace

std::vector<RdmaDevice> read_rdma(const HostTree& tree, const std::vector<PciFunction>& functions) {
  std::vector<RdmaDevice> devices;
  for (const std::string& name : tree.list("/sys/class/infiniband")) {
    RdmaDevice device;
    device.name = name;
    device.folder = "/sys/class/infiniband/" + name;
    device.pci = function_of_path(functions, tree.resolved(device.folder + "/device"));
    device.firmware = tree.read(device.folder + "/fw_ver").text;
    device.board = tree.read(device.folder + "/board_id").text;
    for (const std::string& number : tree.list(device.folder + "/ports")) {
      const auto value = whole_number(number);
      if (value && *value > 0 && *value < 256) {
        device.ports.push_back(read_port(tree, device, number));
      }
    }
    devices.push_back(std::move(device));
  }
  return devices;
}

std::vector<NetDevice> read_net(const HostTree& tree, const std::vector<PciFunction>& functions) {
  std::vector<NetDevice> devices;
  for (const std::string& name : tree.list("/sys/class/net")) {
    NetDevice device;
    device.name = name;
    device.folder = "/sys/class/net/" + name;
    device.pci = function_of_path(functions, tree.resolved(device.folder + "/device"));
    read_bond(tree, device);
    if (device.pci < 0 && device.bond_mode.empty()) continue;
    const auto mtu = tree.number(device.folder + "/mtu");
    if (mtu && *mtu > 0 && *mtu < 1 << 20) device.mtu = static_cast<int>(*mtu);
    const auto speed = tree.number(device.folder + "/speed");
    if (speed && *speed > 0 && *speed < 1 << 28) device.speed = static_cast<int>(*speed);
    device.state = tree.read(device.folder + "/operstate").text;
    read_congestion_marking(tree, device);
    device.priorities = read_priorities(tree, device.name);
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace gradhaul

#include "backends/host/pci_reader.h"

#include <algorithm>
#include <array>

namespace gradhaul {
namespace {

bool is_hexadecimal(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  });
}

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    if (end > at) parts.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::optional<int> read_lanes(const HostTree& tree, const std::string& file) {
  const auto lanes = tree.number(file);
  // 0 and 255 are what devices without a link show; 32 lanes are the most there are.
  if (!lanes || *lanes < 1 || *lanes > 32) return std::nullopt;
  return static_cast<int>(*lanes);
}

PcieLinkState read_link(const HostTree& tree, const std::string& folder) {
  PcieLinkState link;
  link.speed = parse_lane_speed(tree.read(folder + "/current_link_speed").text);
  link.max_speed = parse_lane_speed(tree.read(folder + "/max_link_speed").text);
  link.width = read_lanes(tree, folder + "/current_link_width");
  link.max_width = read_lanes(tree, folder + "/max_link_width");
  return link;
}

int read_id(const HostTree& tree, const std::string& file) {
  const auto id = tree.number(file);
  return id && *id >= 0 && *id <= 0xffffff ? static_cast<int>(*id) : 0;
}

PciFunction read_function(const HostTree& tree, const std::string& address) {
  PciFunction function;
  function.address = address;
  function.folder = "/sys/bus/pci/devices/" + address;
  const std::string& folder = function.folder;
  function.pci_class = read_id(tree, folder + "/class");
  function.vendor = read_id(tree, folder + "/vendor");
  function.device = read_id(tree, folder + "/device");
  const auto numa = tree.number(folder + "/numa_node");
  if (numa && *numa >= 0 && *numa < 1024) function.numa_node = static_cast<int>(*numa);
  function.numa_unset = numa && *numa == -1;
  function.local_cpus = tree.read(folder + "/local_cpulist").text;
  function.driver = last_part(tree.resolved(folder + "/driver"));
  function.iommu_group = last_part(tree.resolved(folder + "/iommu_group"));
  function.iommu_type = tree.read(folder + "/iommu_group/type").text;
  function.virtual_function = tree.exists(folder + "/physfn");
  function.link = read_link(tree, folder);
  const FileText config = tree.read_bytes(folder + "/config", 4096);
  function.config_status = config.status;
  function.config = parse_pci_config(config.text);
  return function;
}

int find_function(const std::vector<PciFunction>& functions, const std::string& address) {
  const auto found =
      std::find_if(functions.begin(), functions.end(),
                   [&](const PciFunction& candidate) { return candidate.address == address; });
  return found == functions.end() ? -1 : static_cast<int>(found - functions.begin());
}

// Parents stand before their children in the path that a function's link leads to.
void place(const HostTree& tree, std::vector<PciFunction>& functions, PciFunction& function) {
  const std::vector<std::string> parts = parts_of(tree.resolved(function.folder));
  for (const std::string& part : parts) {
    if (part == function.address) break;
    if (part.starts_with("pci") && part.find(':') != std::string::npos) {
      // A root bus below another's device, as Intel's VMD has it, begins anew.
      function.root = part;
      function.parent = -1;
    } else if (is_pci_address(part)) {
      const int above = find_function(functions, part);
      if (above >= 0 && functions[above].is_bridge()) function.parent = above;
    }
  }
}

// No real tree has a circle; a damaged copy may.
void break_circle(std::vector<PciFunction>& functions, std::size_t function) {
  std::size_t steps = 0;
  for (int at = functions[function].parent; at >= 0; at = functions[at].parent) {
    if (++steps <= functions.size()) continue;
    functions[function].parent = -1;
    return;
  }
}

}  // namespace

bool is_pci_address(const std::string& name) {
  const std::size_t bus = name.find(':');
  if (bus == std::string::npos || bus < 4 || name.size() != bus + 8) return false;
  return name[bus + 3] == ':' && name[bus + 6] == '.' &&
         is_hexadecimal(std::string_view(name).substr(0, bus)) &&
         is_hexadecimal(std::string_view(name).substr(bus + 1, 2)) &&
         is_hexadecimal(std::string_view(name).substr(bus + 4, 2)) && name[bus + 7] >= '0' &&
         name[bus + 7] <= '7';
}

std::optional<double> parse_lane_speed(const std::string& text) {
  constexpr std::array kSpeeds{2.5, 5.0, 8.0, 16.0, 32.0, 64.0};
  const auto speed = leading_number(text);
  if (!speed || text.find("GT/s") == std::string::npos) return std::nullopt;
  if (std::find(kSpeeds.begin(), kSpeeds.end(), *speed) == kSpeeds.end()) return std::nullopt;
  return speed;
}

std::vector<PciFunction> read_pci(const HostTree& tree) {
  std::vector<std::string> addresses;
  for (const std::string& name : tree.list("/sys/bus/pci/devices")) {
    if (is_pci_address(name)) addresses.push_back(name);
  }
  std::sort(addresses.begin(), addresses.end(), [](const auto& left, const auto& right) {
    return left.size() != right.size() ? left.size() < right.size() : left < right;
  });
  std::vector<PciFunction> functions;
  functions.reserve(addresses.size());
  for (const std::string& address : addresses) functions.push_back(read_function(tree, address));
  for (PciFunction& function : functions) place(tree, functions, function);
  for (std::size_t i = 0; i < functions.size(); ++i) break_circle(functions, i);
  return functions;
}

int function_of_path(const std::vector<PciFunction>& functions, const std::string& path) {
  int found = -1;
  for (const std::string& part : parts_of(path)) {
    if (!is_pci_address(part)) continue;
    const int function = find_function(functions, part);
    if (function >= 0) found = function;
  }
  return found;
}

}  // namespace gradhaul

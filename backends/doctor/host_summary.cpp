#include "backends/doctor/host_summary.h"

#include <algorithm>
#include <set>

#include "backends/doctor/findings.h"
#include "backends/doctor/known_devices.h"
#include "backends/doctor/number_text.h"
#include "backends/host/pci_topology.h"

namespace gradhaul {
namespace {

std::string state_word(const std::string& text) {
  const std::size_t colon = text.find(": ");
  return colon == std::string::npos ? "state not known" : text.substr(colon + 2);
}

std::string link_text(const HostInventory& host, int function) {
  const PcieLinkCheck check = check_link(host, function);
  if (!check.speed || !check.width) return "";
  return ", " + number_text(*check.speed) + " GT/s x" + std::to_string(*check.width);
}

void add_fact(HostItem& item, const char* name, const std::string& value) {
  if (!value.empty()) item.facts.emplace_back(name, value);
}

std::string number_or_nothing(const std::optional<double>& number) {
  return number ? number_text(*number) : "";
}

HostItem item_of_function(const HostInventory& host, int index, const char* kind) {
  const PciFunction& function = host.pci[index];
  HostItem item;
  item.kind = kind;
  item.name = function_name(host, index);
  add_fact(item, "address", function.address);
  add_fact(item, "model", device_name(function.vendor, function.device));
  add_fact(item, "driver", function.driver);
  if (function.numa_node) add_fact(item, "numa_node", std::to_string(*function.numa_node));
  add_fact(item, "local_cpus", function.local_cpus);
  const PcieLinkCheck check = check_link(host, index);
  add_fact(item, "link_gts", number_or_nothing(check.speed));
  add_fact(item, "link_gts_limit", number_or_nothing(check.limit_speed));
  if (check.width) add_fact(item, "link_lanes", std::to_string(*check.width));
  if (check.limit_width) add_fact(item, "link_lanes_limit", std::to_string(*check.limit_width));
  if (function.config.express) {
    const ExpressCapability& express = *function.config.express;
    add_fact(item, "max_payload", std::to_string(express.max_payload));
    add_fact(item, "max_read_request", std::to_string(express.max_read_request));
    add_fact(item, "relaxed_ordering", express.relaxed_ordering ? "true" : "false");
  }
  add_fact(item, "iommu_type", function.iommu_type);
  return item;
}

HostItem item_of_port(const RdmaDevice& device, const RdmaPort& port) {
  HostItem item;
  item.kind = "port";
  item.name = device.name + " port " + std::to_string(port.number);
  item.text =
      (port.link_layer.empty() ? "link layer not known" : port.link_layer) + ", " +
      state_word(port.state_text) +
      (port.active() || port.physical_text.empty() ? ""
                                                   : " (" + state_word(port.physical_text) + ")") +
      (port.rate_text.empty() || !port.rate ? "" : ", " + port.rate_text) +
      (port.mtu ? ", MTU " + std::to_string(*port.mtu) : "");
  add_fact(item, "state", port.state_text);
  add_fact(item, "phys_state", port.physical_text);
  add_fact(item, "rate", port.rate_text);
  add_fact(item, "link_layer", port.link_layer);
  if (port.mtu) add_fact(item, "mtu", std::to_string(*port.mtu));
  add_fact(item, "firmware", device.firmware);
  add_fact(item, "board", device.board);
  for (const RdmaGid& gid : port.gids) {
    add_fact(item, ("gid" + std::to_string(gid.index)).c_str(),
             gid.gid + (gid.type.empty() ? "" : " " + gid.type) +
                 (gid.netdev.empty() ? "" : " " + gid.netdev));
  }
  return item;
}

HostItem item_of_netdev(const NetDevice& device) {
  HostItem item;
  item.kind = "netdev";
  item.name = device.name;
  item.text = device.state.empty() ? "state not known" : device.state;
  if (device.speed) item.text += ", " + number_text(*device.speed / 1e3) + " Gb/s";
  if (device.mtu) item.text += ", MTU " + std::to_string(*device.mtu);
  if (!device.bond.empty()) item.text += ", in " + device.bond;
  if (!device.bond_mode.empty()) {
    item.text += ", bond of " + list_text(device.members) + ", " + device.bond_mode;
  }
  add_fact(item, "state", device.state);
  if (device.mtu) add_fact(item, "mtu", std::to_string(*device.mtu));
  if (device.speed) add_fact(item, "speed_mbps", std::to_string(*device.speed));
  return item;
}

bool contains(const std::vector<int>& list, int wanted) {
  return std::find(list.begin(), list.end(), wanted) != list.end();
}

HostItem item_of_device(const HostInventory& host, int index) {
  const PciFunction& function = host.pci[index];
  HostItem item = item_of_function(host, index, contains(host.gpus, index) ? "gpu" : "nic");
  const std::string place = item.name == function.address ? "" : function.address + " ";
  item.text = place + device_name(function.vendor, function.device) + link_text(host, index) +
              (function.driver.empty() ? ", no driver" : "");
  for (const RdmaDevice* device : host.rdma_of(index)) {
    for (const RdmaPort& port : device->ports) item.children.push_back(item_of_port(*device, port));
  }
  for (const NetDevice& device : host.net) {
    if (device.pci == index) item.children.push_back(item_of_netdev(device));
  }
  return item;
}

// Builds the part of the tree below a switch, or below a socket.
class TreeBuilder {
 public:
  explicit TreeBuilder(const HostInventory& host) : host_(host) {
    std::set<int> shown(host.gpus.begin(), host.gpus.end());
    shown.insert(host.nics.begin(), host.nics.end());
    for (const int device : std::set<int>(shown)) {
      for (const int above : switches_above(host, device)) shown.insert(above);
    }
    shown_.assign(shown.begin(), shown.end());
  }

  std::vector<HostItem> below_switch(int parent) const {
    return items([&](int function, const std::vector<int>& above) {
      return function != parent && !above.empty() && above.front() == parent;
    });
  }

  std::vector<HostItem> below_socket(std::optional<int> socket) const {
    return items([&](int function, const std::vector<int>& above) {
      return above.empty() && host_.socket_of(host_.pci[function]) == socket;
    });
  }

 private:
  template <typename Wanted>
  std::vector<HostItem> items(const Wanted& wanted) const {
    std::vector<HostItem> found;
    for (const int function : shown_) {
      if (!wanted(function, switches_above(host_, function))) continue;
      if (!host_.pci[function].is_bridge()) {
        found.push_back(item_of_device(host_, function));
        continue;
      }
      HostItem item = item_of_function(host_, function, "switch");
      item.text =
          "uplink" + (link_text(host_, function).empty() ? std::string(" not known")
                                                         : link_text(host_, function).substr(1));
      item.children = below_switch(function);
      found.push_back(std::move(item));
    }
    return found;
  }

  const HostInventory& host_;
  std::vector<int> shown_;
};

HostItem item_of_host(const HostInventory& host) {
  HostItem item;
  item.kind = "host";
  item.name = "host";
  item.text = count_of_things(host.sockets.size(), "socket") + ", " +
              count_of_things(static_cast<std::size_t>(host.processors), "processor") +
              (host.cpu_name.empty() ? "" : ", " + host.cpu_name) +
              (host.settings.kernel.empty() ? "" : ", Linux " + host.settings.kernel);
  add_fact(item, "processors", std::to_string(host.processors));
  add_fact(item, "cpu", host.cpu_name);
  add_fact(item, "kernel", host.settings.kernel);
  add_fact(item, "command_line", host.settings.command_line);
  if (host.settings.gpu_driver.read()) {
    const auto lines = lines_of(host.settings.gpu_driver.text);
    if (!lines.empty()) add_fact(item, "gpu_driver", lines.front());
  }
  return item;
}

}  // namespace

std::vector<HostItem> summarize_host(const HostInventory& host) {
  std::vector<HostItem> items{item_of_host(host)};
  const TreeBuilder tree(host);
  for (const int socket : host.sockets) {
    HostItem item;
    item.kind = "socket";
    item.name = "socket" + std::to_string(socket);
    std::vector<std::string> nodes;
    for (const NumaNode& node : host.numa_nodes) {
      if (node.socket != socket) continue;
      nodes.push_back("NUMA node " + std::to_string(node.number) + " with processors " + node.cpus);
    }
    item.text = list_text(nodes);
    item.children = tree.below_socket(socket);
    items.push_back(std::move(item));
  }
  HostItem nowhere;
  nowhere.kind = "socket";
  nowhere.name = "at a socket that is not told";
  nowhere.children = tree.below_socket(std::nullopt);
  if (!nowhere.children.empty()) items.push_back(std::move(nowhere));
  for (const RdmaDevice& device : host.rdma) {
    if (device.pci >= 0) continue;
    for (const RdmaPort& port : device.ports) items.push_back(item_of_port(device, port));
  }
  for (const NetDevice& device : host.net) {
    if (device.pci < 0) items.push_back(item_of_netdev(device));
  }
  return items;
}

HostDistances host_distances(const HostInventory& host) {
  HostDistances distances;
  const std::vector<int> nics = fabric_nics(host);
  for (const int nic : nics) distances.nics.push_back(function_name(host, nic));
  for (const int gpu : host.gpus) {
    distances.gpus.push_back(function_name(host, gpu));
    auto& row = distances.of.emplace_back();
    for (const int nic : nics) row.push_back(distance_between(host, gpu, nic));
  }
  return distances;
}

}  // namespace gradhaul

#include "backends/doctor/node_draft.h"

#include <algorithm>
#include <map>
#include <set>

#include "backends/doctor/findings.h"
#include "backends/doctor/known_devices.h"
#include "backends/doctor/number_text.h"
#include "backends/host/pci_topology.h"

namespace gradhaul {
namespace {

using Model = std::pair<int, int>;  // vendor, device

Model model_of(const PciFunction& function) { return {function.vendor, function.device}; }

// A node has devices of one model: those there are most of; of NICs, those that serve GPUs best.
std::vector<int> of_one_model(const HostInventory& host, const std::vector<int>& candidates,
                              const char* kind, std::vector<std::string>& notes) {
  std::map<Model, std::size_t> counts;
  for (const int candidate : candidates) ++counts[model_of(host.pci[candidate])];
  if (counts.size() < 2) return candidates;
  const auto most = std::max_element(counts.begin(), counts.end(), [](auto& left, auto& right) {
    return left.second < right.second;
  });
  std::vector<int> kept;
  std::vector<std::string> left_out;
  for (const int candidate : candidates) {
    if (model_of(host.pci[candidate]) == most->first) {
      kept.push_back(candidate);
    } else {
      left_out.push_back(function_label(host, candidate) + ", " +
                         device_name(host.pci[candidate].vendor, host.pci[candidate].device));
    }
  }
  notes.push_back(std::string("a node has ") + kind +
                  "s of one model; left out: " + list_text(left_out));
  return kept;
}

// NICs that are the nearest of some GPU; without any such, all.
std::vector<int> serving_nics(const HostInventory& host, std::vector<std::string>& notes) {
  std::set<int> serving;
  for (const int gpu : host.gpus) {
    for (const int nic : nearest_nics(host, gpu)) serving.insert(nic);
  }
  std::vector<int> nics = fabric_nics(host);
  if (serving.empty() || serving.size() == nics.size()) return nics;
  std::vector<std::string> others;
  for (const int nic : nics) {
    if (serving.count(nic) == 0) others.push_back(function_label(host, nic));
  }
  notes.push_back("left out, being the nearest NIC of no GPU: " + list_text(others));
  return {serving.begin(), serving.end()};
}

std::optional<BitRate> rate_of(const HostInventory& host, int nic) {
  double rate = 0;
  for (const RdmaDevice* device : host.rdma_of(nic)) {
    for (const RdmaPort& port : device->ports) rate = std::max(rate, port.rate.value_or(0));
  }
  for (const NetDevice& device : host.net) {
    if (rate == 0 && device.pci == nic && device.speed) rate = *device.speed / 1e3;
  }
  if (rate < 0.001 || rate > 1e5) return std::nullopt;
  return BitRate{static_cast<std::int64_t>(rate * 1e9)};
}

NodeDraft::Device describe(const HostInventory& host, int function) {
  const PciFunction& device = host.pci[function];
  NodeDraft::Device described;
  described.name = device_name(device.vendor, device.device);
  const KnownDevice* known = known_device(device.vendor, device.device);
  if (known != nullptr) described.shipped = known->shipped;
  described.pcie = limit_link(host, function);
  if (device.is_network()) described.rate = rate_of(host, function);
  return described;
}

// What the link above carries: as it trained, save below a GPU that may have lowered its speed.
std::optional<PcieLink> link_above(const HostInventory& host, int function) {
  auto link = running_link(host, function);
  const auto limit = limit_link(host, function);
  const bool gpu = std::find(host.gpus.begin(), host.gpus.end(), function) != host.gpus.end();
  if (link && limit && gpu) link->generation = limit->generation;
  return link ? link : limit;
}

class TreeDraft {
 public:
  TreeDraft(const HostInventory& host, const std::vector<int>& gpus, const std::vector<int>& nics,
            NodeDraft& draft)
      : host_(host), draft_(draft) {
    add_names("gpu", gpus);
    add_names("nic", nics);
    for (const auto& [device, name] : names_) {
      for (const int above : switches_above(host, device)) switches_.insert(above);
    }
    int number = 0;
    for (const int each : switches_) switch_names_[each] = "sw" + std::to_string(number++);
  }

  void write() {
    for (const int each : switches_) add_switch(each);
    std::map<std::string, std::vector<int>> slots;
    for (const auto& [device, name] : names_) {
      const std::string& address = host_.pci[device].address;
      if (switches_above(host_, device).empty()) {
        slots[address.substr(0, address.find('.'))].push_back(device);
      }
    }
    for (const auto& [address, devices] : slots) add_slot(devices);
  }

 private:
  void add_names(const char* kind, const std::vector<int>& devices) {
    for (std::size_t i = 0; i < devices.size(); ++i) {
      names_[devices[i]] = kind + std::to_string(i);
    }
  }

  std::string socket_of(int function) {
    const auto socket = host_.socket_of(host_.pci[function]);
    const auto place = std::find(host_.sockets.begin(), host_.sockets.end(), socket.value_or(-1));
    if (place != host_.sockets.end()) {
      return "socket" + std::to_string(place - host_.sockets.begin());
    }
    if (host_.sockets.size() > 1) {
      draft_.notes.push_back("the host does not tell the socket of " + host_.pci[function].address +
                             "; socket0 stands in");
    }
    return "socket0";
  }

  std::string place_text(const std::vector<int>& devices) {
    std::vector<std::string> parts;
    for (const int device : devices) {
      const auto rdma = host_.rdma_of(device);
      parts.push_back(names_.at(device) + " is " + host_.pci[device].address +
                      (rdma.empty() ? "" : " (" + rdma.front()->name + ")"));
    }
    return list_text(parts);
  }

  PcieLink known_link(int function) {
    if (const auto link = link_above(host_, function)) return *link;
    draft_.notes.push_back("the host does not tell the link of " + host_.pci[function].address +
                           "; gen4x16 stands in");
    return {4, 16};
  }

  void add_switch(int function) {
    PcieBranch branch;
    branch.switch_name = switch_names_.at(function);
    const std::vector<int> above = switches_above(host_, function);
    branch.parent = above.empty() ? socket_of(function) : switch_names_.at(above.front());
    branch.link = known_link(function);
    std::vector<int> devices;
    for (const auto& [device, name] : names_) {
      const std::vector<int> over = switches_above(host_, device);
      if (!over.empty() && over.front() == function) devices.push_back(device);
    }
    for (const int device : devices) branch.devices.push_back(names_.at(device));
    draft_.pcie.push_back(std::move(branch));
    const std::string places = place_text(devices);
    draft_.places.push_back("switch " + host_.pci[function].address +
                            (places.empty() ? "" : ": " + places));
  }

  // Functions of one slot share its link, so that a switch stands for the slot.
  void add_slot(const std::vector<int>& devices) {
    PcieBranch branch;
    branch.parent = socket_of(devices.front());
    branch.link = known_link(devices.front());
    if (devices.size() > 1) {
      branch.switch_name = "slot" + std::to_string(slots_++);
    }
    for (const int device : devices) branch.devices.push_back(names_.at(device));
    draft_.pcie.push_back(std::move(branch));
    draft_.places.push_back(place_text(devices));
  }

  const HostInventory& host_;
  NodeDraft& draft_;
  std::map<int, std::string> names_;
  std::set<int> switches_;
  std::map<int, std::string> switch_names_;
  int slots_ = 0;
};

// Processors whose sockets and root complexes the shipped nodes describe.
std::string cpu_of(const HostInventory& host) {
  const int family = host.cpu_family.value_or(0);
  const int model = host.cpu_model.value_or(0);
  if (host.cpu_vendor == "AuthenticAMD" &&
      ((family == 23 && model == 0x31) || (family == 25 && model <= 0x0f))) {
    return "epyc-rome-milan";
  }
  if (host.cpu_vendor == "GenuineIntel" && family == 6 && model == 143) return "sapphire-rapids";
  if (host.cpu_vendor == "GenuineIntel" && family == 6 && model == 85) return "skylake";
  return "";
}

void draft_nvlink(const HostInventory& host, const std::vector<int>& gpus, NodeDraft& draft) {
  const KnownDevice* known =
      known_device(host.pci[gpus.front()].vendor, host.pci[gpus.front()].device);
  if (known == nullptr || known->nvlink <= 0) return;
  const bool seen = std::any_of(host.pci.begin(), host.pci.end(), [](const PciFunction& each) {
    return is_nvswitch(each.vendor, each.pci_class);
  });
  if (!seen) {
    draft.notes.push_back(
        "no NVSwitch shows on the PCI bus, and links between GPUs never do: add "
        "`nvlink` where there is one (nvidia-smi topo -m)");
    return;
  }
  draft.nvlink = BitRate{static_cast<std::int64_t>(known->nvlink * 8e9)};
  draft.nvlink_efficiency = known->nvlink_efficiency;
}

void draft_settings(const HostInventory& host, const std::vector<int>& devices, NodeDraft& draft) {
  for (const int device : devices) {
    const auto& express = host.pci[device].config.express;
    if (!express) continue;
    const Bytes payload{express->max_payload};
    draft.max_payload = draft.max_payload ? std::min(*draft.max_payload, payload) : payload;
    if (!host.pci[device].is_network()) continue;
    const Bytes request{express->max_read_request};
    draft.max_read_request =
        draft.max_read_request ? std::min(*draft.max_read_request, request) : request;
  }
  if (!draft.max_payload) {
    draft.notes.push_back(
        "only root may see what devices are set to send: pcie_settings are those "
        "of well-tuned servers");
  }
}

}  // namespace

NodeDraft draft_node(const HostInventory& host) {
  NodeDraft draft;
  draft.name = "this-host";
  draft.sockets = static_cast<int>(std::clamp<std::size_t>(host.sockets.size(), 1, 8));
  draft.cpu = cpu_of(host);
  const std::vector<int> gpus = of_one_model(host, host.gpus, "GPU", draft.notes);
  if (gpus.empty()) return draft;
  const std::vector<int> nics =
      of_one_model(host, serving_nics(host, draft.notes), "NIC", draft.notes);
  draft.gpu_count = static_cast<int>(gpus.size());
  draft.gpu = describe(host, gpus.front());
  draft.nic_count = static_cast<int>(nics.size());
  if (!nics.empty()) draft.nic = describe(host, nics.front());
  TreeDraft(host, gpus, nics, draft).write();
  draft_nvlink(host, gpus, draft);
  std::vector<int> devices = gpus;
  devices.insert(devices.end(), nics.begin(), nics.end());
  draft_settings(host, devices, draft);
  return draft;
}

}  // namespace gradhaul

#include "backends/doctor/unseen.h"

#include <algorithm>
#include <set>

#include "backends/doctor/findings.h"
#include "backends/doctor/number_text.h"
#include "backends/host/pci_topology.h"

namespace gradhaul {
namespace {

class UnseenList {
 public:
  void add(std::string what, std::string file, std::string reason, std::string takes) {
    found_.push_back({std::move(what), std::move(file), std::move(reason), std::move(takes)});
  }
  std::vector<Unseen> take() { return std::move(found_); }

 private:
  std::vector<Unseen> found_;
};

std::vector<int> devices_of(const HostInventory& host) {
  std::vector<int> devices = host.gpus;
  const std::vector<int> nics = fabric_nics(host);
  devices.insert(devices.end(), nics.begin(), nics.end());
  return devices;
}

void list_configuration(const HostInventory& host, UnseenList& list) {
  std::set<int> wanted;
  for (const int device : devices_of(host)) {
    wanted.insert(device);
    for (const int above : bridges_above(host, device)) wanted.insert(above);
  }
  const auto is_hidden = [&](int function) {
    return !host.pci[function].config.capabilities_shown;
  };
  const auto hidden = std::find_if(wanted.begin(), wanted.end(), is_hidden);
  if (hidden == wanted.end()) {
    const auto bridge = std::find_if(wanted.begin(), wanted.end(), [&](int function) {
      return host.pci[function].is_bridge() && !host.pci[function].config.extended_shown;
    });
    if (bridge == wanted.end()) return;
    list.add("ACS of bridges", host.pci[*bridge].folder + "/config",
             "its extended part is not shown", "root, and a machine that maps it (MMCONFIG)");
    return;
  }
  const PciFunction& function = host.pci[*hidden];
  list.add("MaxPayload, MaxReadReq and relaxed ordering of devices, ACS of bridges",
           function.folder + "/config",
           function.config_status == ReadStatus::kRead ? "only its first 64 bytes are shown"
                                                       : reason_of(function.config_status),
           "root: sudo gradhaul doctor");
}

void list_links(const HostInventory& host, UnseenList& list) {
  std::vector<std::string> names;
  std::string file;
  for (const int device : devices_of(host)) {
    const PcieLinkCheck check = check_link(host, device);
    if (check.speed && check.width && check.limit_speed && check.limit_width) continue;
    names.push_back(function_label(host, device));
    if (file.empty()) file = host.pci[device].folder + "/current_link_speed";
  }
  if (names.empty()) return;
  list.add("what the PCIe link of " + list_text(names) + " trained to", file,
           "its speed and width, or what they could be, are not told",
           "on bare metal a kernel from 4.13 on; in a virtual machine its host knows");
}

void list_distances(const HostInventory& host, UnseenList& list) {
  std::vector<std::string> names;
  for (const int gpu : host.gpus) {
    if (!fabric_nics(host).empty() && nearest_nics(host, gpu).empty()) {
      names.push_back(function_label(host, gpu));
    }
  }
  if (names.empty()) return;
  list.add("how far " + list_text(names) + " is from the NICs, and what they share",
           "/sys/bus/pci/devices",
           "it hangs below no bridge, as a hypervisor places it; and which socket is not told, or "
           "the same",
           "the cloud's description of the machine, or its NCCL_TOPO_FILE");
}

void list_iommu(const HostInventory& host, UnseenList& list) {
  for (const int device : devices_of(host)) {
    const PciFunction& function = host.pci[device];
    if (function.iommu_group.empty() || !function.iommu_type.empty()) continue;
    const bool told = host.settings.command_line.find("iommu=pt") != std::string::npos;
    if (told) continue;
    list.add("whether the IOMMU translates",
             "/sys/kernel/iommu_groups/" + function.iommu_group + "/type", "not shown",
             "a kernel from 5.11 on; dmesg | grep -i iommu tells as well");
    return;
  }
}

void list_port(const RdmaDevice& device, const RdmaPort& port, UnseenList& list) {
  const std::string label = device.name + " port " + std::to_string(port.number);
  if (!port.state || !port.physical_state) {
    list.add("the state of " + label, port.folder + (port.state ? "/phys_state" : "/state"),
             "missing, or not in the form \"4: ACTIVE\"", "a look with ibstat");
  }
  if (!port.rate) {
    list.add("the rate of " + label, port.folder + "/rate",
             "missing, or not in the form \"400 Gb/sec (4X NDR)\"", "a look with ibstat");
  }
  if (port.link_layer.empty()) {
    list.add("whether " + label + " is InfiniBand or Ethernet", port.folder + "/link_layer",
             "missing, or not text", "a look with ibstat");
  }
}

void list_roce_port(const RdmaDevice& device, const RdmaPort& port, UnseenList& list) {
  const std::string label = device.name + " port " + std::to_string(port.number);
  const bool typed = std::all_of(port.gids.begin(), port.gids.end(),
                                 [](const RdmaGid& gid) { return !gid.type.empty(); });
  if (!port.gids_listed) {
    list.add("the GIDs of " + label, port.folder + "/gids", "missing, or not readable",
             "a look with show_gids");
  } else if (!typed) {
    list.add("which GIDs of " + label + " are RoCE v2", port.folder + "/gid_attrs/types",
             "not all types are readable; in a container they may belong to another network",
             "the host's network namespace, or show_gids there");
  }
}

bool tells_priorities(const HostInventory& host, const RdmaDevice& device) {
  return std::any_of(host.net.begin(), host.net.end(), [&](const NetDevice& candidate) {
    return candidate.pci == device.pci && candidate.priorities;
  });
}

// What was said of the device, or of the library.
std::string why_no_mtu(const HostInventory& host, const std::string& device) {
  for (const std::string& why : host.mtus_missing) {
    if (why.starts_with(device + ":") || why.starts_with(device + " port")) return why;
  }
  return host.mtus_missing.empty() ? "verbs do not know the device" : host.mtus_missing.front();
}

void list_rdma(const HostInventory& host, UnseenList& list) {
  std::vector<std::string> sizeless;
  bool ethernet = false;
  bool classless = false;
  for (const RdmaDevice& device : host.rdma) {
    for (const RdmaPort& port : device.ports) {
      list_port(device, port, list);
      if (device.pci < 0 || !port.active()) continue;
      if (port.link_layer == "InfiniBand" && !port.mtu) sizeless.push_back(device.name);
      ethernet = ethernet || (port.ethernet() && !tells_priorities(host, device));
      classless = classless || (port.ethernet() && !port.traffic_class);
      if (port.ethernet()) list_roce_port(device, port, list);
    }
  }
  if (!sizeless.empty()) {
    list.add("the MTU of InfiniBand ports", "libibverbs.so.1", why_no_mtu(host, sizeless.front()),
             "rdma-core on the host itself, and the rights to ask; ibv_devinfo | grep active_mtu");
  }
  if (classless) {
    list.add("the traffic class of RoCE", "/sys/class/infiniband/DEVICE/tc/PORT/traffic_class",
             "no such file", "NVIDIA's driver package; without it, what the application sets");
  }
  if (ethernet) {
    list.add(
        "which priorities PFC protects", "/dcb/INTERFACE",
        "no file of the kernel holds it, and its driver does not answer",
        "mlnx_qos -i INTERFACE; for a copied tree: mkdir DIR/dcb; dcb pfc show dev INTERFACE > "
        "DIR/dcb/INTERFACE");
  }
  if (!host.queue_pairs_hidden.empty()) {
    list.add(
        "queue pairs of " + list_text(host.queue_pairs_hidden) + ", their states and owners",
        "/rdma/qp",
        host.queue_pairs_missing + "; nor are there debugging files of mlx5, or not for this user",
        "Linux 4.16 or later; of mlx5, root and debugfs; for a copied tree: mkdir DIR/rdma; "
        "rdma resource show qp > DIR/rdma/qp");
  }
}

void list_settings(const HostInventory& host, UnseenList& list) {
  const HostSettings& settings = host.settings;
  if (!host.rdma.empty() && !settings.locked_memory.read()) {
    list.add("how much memory a process may lock", "/proc/self/limits",
             reason_of(settings.locked_memory.status), "ulimit -l, in the job itself");
  }
  if (settings.governors.empty()) {
    list.add("the clock governor of the processors",
             "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "no such file",
             "a cpufreq driver; in a virtual machine its host governs");
  }
  if (!host.gpu_states_missing.empty()) {
    list.add("NVLinks, clocks and memory errors of GPUs", "libnvidia-ml.so.1",
             host.gpu_states_missing, "NVIDIA's driver on the host itself; nvidia-smi -q there");
  }
  if (host.has_nvidia_gpu() && !settings.gpu_driver.read()) {
    list.add("which GPU driver this is", "/proc/driver/nvidia/version",
             reason_of(settings.gpu_driver.status), "the nvidia driver, loaded");
  }
  if (!host.gpus.empty() && !host.rdma.empty() && !settings.modules_listed) {
    list.add("whether nvidia_peermem is loaded", "/proc/modules", "missing, or not text",
             "lsmod | grep peermem");
  }
}

}  // namespace

std::vector<Unseen> list_unseen(const HostSnapshot& snapshot, bool watched) {
  const HostInventory& host = snapshot.host;
  UnseenList list;
  if (host.pci.empty()) {
    list.add("PCI devices", "/sys/bus/pci/devices", "empty, or no such folder",
             "a host with a PCI bus; in a container, its /sys");
  }
  if (host.processors == 0) {
    list.add("processors and sockets", "/sys/devices/system/cpu", "empty, or no such folder",
             "/sys of the host");
  } else if (host.sockets.empty()) {
    list.add("sockets", "/sys/devices/system/cpu/cpu0/topology/physical_package_id",
             "missing, or no number", "/sys of the host");
  }
  list_distances(host, list);
  list_configuration(host, list);
  list_links(host, list);
  list_iommu(host, list);
  list_rdma(host, list);
  list_settings(host, list);
  if (snapshot.driver_counters_missing && !host.net.empty()) {
    list.add("counters of network drivers (pause frames, discards, bit errors)",
             "/ethtool/INTERFACE", "a copied tree holds them only if somebody put them there",
             "on the host: mkdir DIR/ethtool; ethtool -S INTERFACE > DIR/ethtool/INTERFACE");
  }
  if (!watched && !snapshot.counters.empty()) {
    list.add("whether counters grow", "", "they were read once", "--watch 10m, under load");
  }
  return list.take();
}

}  // namespace gradhaul

// The way between GPUs and NICs: how far, and what sends it on detours.

#include <algorithm>
#include <map>

#include "backends/doctor/findings.h"
#include "backends/doctor/number_text.h"
#include "backends/host/pci_topology.h"

namespace gradhaul {
namespace {

Evidence place_of(const PciFunction& function) {
  std::string numa = function.numa_node ? std::to_string(*function.numa_node) : "-1";
  return {function.folder + "/numa_node", std::move(numa)};
}

std::string names_of(const HostInventory& host, const std::vector<int>& functions) {
  std::vector<std::string> names;
  for (const int function : functions) names.push_back(function_label(host, function));
  return list_text(names);
}

void find_distance(const HostInventory& host, int gpu, Findings& findings) {
  const std::vector<int> nearest = nearest_nics(host, gpu);
  if (nearest.empty()) return;
  const PcieDistance distance = *distance_between(host, gpu, nearest.front());
  if (distance != PcieDistance::kSameSocket && distance != PcieDistance::kOtherSocket) return;
  const bool far = distance == PcieDistance::kOtherSocket;
  findings.push_back(
      {far ? Severity::kProblem : Severity::kWarning,
       far ? "gpu-nic-other-socket" : "gpu-nic-root-complex",
       function_label(host, gpu),
       std::string("its nearest NIC, ") + names_of(host, {nearest.front()}) +
           (far ? ", hangs at another socket (SYS)"
                : ", hangs at another root port of its socket (PHB)"),
       {place_of(host.pci[gpu]), place_of(host.pci[nearest.front()])},
       far ? "NCCL uses no GPUDirect over this distance: data goes through host memory. "
             "Peer-to-peer "
             "across sockets is slow where it works at all: 6 to 16 GB/s are reported on Skylake."
           : "NCCL uses no GPUDirect over this distance unless told to (NCCL_NET_GDR_LEVEL=PHB): "
             "data goes through host memory, over the same links twice. Peer-to-peer through a "
             "root "
             "complex does 6 to 11 GB/s on Skylake, about 22 on EPYC.",
       far ? "Put a NIC, or this GPU, where they meet at one socket, better below one switch."
           : "Put both below one switch, if there is one. Otherwise measure with "
             "NCCL_NET_GDR_LEVEL=PHB and without.",
       "nvidia-smi topo -m"});
}

void find_shared_nics(const HostInventory& host, Findings& findings) {
  std::map<int, std::vector<int>> served;
  for (const int gpu : host.gpus) {
    const std::vector<int> nearest = nearest_nics(host, gpu);
    if (nearest.size() == 1) served[nearest.front()].push_back(gpu);
  }
  for (const auto& [nic, gpus] : served) {
    if (gpus.size() < 2) continue;
    findings.push_back({Severity::kFact,
                        "nic-shared",
                        function_label(host, nic),
                        "it is the nearest NIC of " + names_of(host, gpus),
                        {},
                        "They share its rate, each having one in " + std::to_string(gpus.size()) +
                            " of it when all send at once.",
                        "",
                        "nvidia-smi topo -m"});
  }
}

bool below(const HostInventory& host, int function, int bridge) {
  const std::vector<int> above = bridges_above(host, function);
  return std::find(above.begin(), above.end(), bridge) != above.end();
}

// A port of a switch through which peers of the same switch reach a device.
void find_redirect(const HostInventory& host, int device, int peer, Findings& findings) {
  const std::vector<int> above = bridges_above(host, device);
  for (std::size_t i = 0; i + 1 < above.size(); ++i) {
    const PciFunction& port = host.pci[above[i]];
    // Peers below the same port meet before it.
    if (!is_upstream_port(host, above[i + 1]) || !below(host, peer, above[i + 1]) ||
        below(host, peer, above[i]) || !port.config.access_control ||
        !port.config.access_control->redirects()) {
      continue;
    }
    const bool known = std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) {
      return finding.id == "acs-redirect" &&
             finding.evidence.front().file == port.folder + "/config";
    });
    if (known) continue;
    findings.push_back(
        {Severity::kProblem,
         "acs-redirect",
         "bridge " + port.address,
         "it sends what " + function_label(host, device) + " sends to " +
             function_label(host, peer) + ", below the same switch, up to the root complex",
         {{port.folder + "/config",
           "ACSCtl ReqRedir+, control " + std::to_string(port.config.access_control->control)}},
         "Each byte between them takes the switch's uplink up and down again, and the root "
         "complex: "
         "both directions carry send and receive, bandwidth falls to half or less, or traffic "
         "hangs.",
         "Outside virtual machines, switch ACS off: in the firmware, or "
         "setpci -s " +
             port.address + " ECAP_ACS+6.w=0000 as root after each boot.",
         "sudo lspci -vvs " + port.address + " | grep ACSCtl"});
  }
}

void find_redirects(const HostInventory& host, Findings& findings) {
  std::vector<int> devices = host.gpus;
  const std::vector<int> nics = fabric_nics(host);
  devices.insert(devices.end(), nics.begin(), nics.end());
  for (const int device : devices) {
    for (const int peer : devices) {
      if (device != peer) find_redirect(host, device, peer, findings);
    }
  }
}

void find_translation(const HostInventory& host, Findings& findings) {
  std::vector<int> devices = host.gpus;
  const std::vector<int> nics = fabric_nics(host);
  devices.insert(devices.end(), nics.begin(), nics.end());
  std::vector<Evidence> evidence;
  std::vector<int> translated;
  for (const int device : devices) {
    const PciFunction& function = host.pci[device];
    if (!function.iommu_type.starts_with("DMA")) continue;
    translated.push_back(device);
    evidence.push_back(
        {"/sys/kernel/iommu_groups/" + function.iommu_group + "/type", function.iommu_type});
  }
  if (translated.empty()) return;
  findings.push_back(
      {Severity::kWarning, "iommu-translates", "host",
       "the IOMMU translates the addresses of " + names_of(host, translated), std::move(evidence),
       "Peer-to-peer goes up to the IOMMU and back; and each miss of its cache costs a DMA about "
       "330 ns (Neugebauer et al., SIGCOMM 2018): up to a fifth of 200 Gb/s.",
       "Outside virtual machines, boot with iommu=pt (and intel_iommu=on where it is needed at "
       "all), "
       "or switch the IOMMU off in the firmware.",
       "cat /proc/cmdline /sys/kernel/iommu_groups/*/type | sort | uniq -c"});
}

void find_unset_numa(const HostInventory& host, Findings& findings) {
  if (host.numa_nodes.size() < 2) return;
  std::vector<int> devices = host.gpus;
  const std::vector<int> nics = fabric_nics(host);
  devices.insert(devices.end(), nics.begin(), nics.end());
  for (const int device : devices) {
    if (!host.pci[device].numa_unset) continue;
    findings.push_back(
        {Severity::kWarning,
         "numa-unset",
         function_label(host, device),
         "the firmware does not say at which NUMA node it hangs, of " +
             std::to_string(host.numa_nodes.size()),
         {place_of(host.pci[device])},
         "Libraries that bind threads and memory near a device then do so by chance; "
         "from the other socket a DMA takes some 100 ns longer.",
         "Update the firmware; until then, bind by hand (numactl --cpunodebind).",
         "cat " + host.pci[device].folder + "/numa_node"});
  }
}

}  // namespace

void find_in_paths(const HostInventory& host, Findings& findings) {
  if (!host.rdma.empty()) {
    for (const int gpu : host.gpus) find_distance(host, gpu, findings);
    find_shared_nics(host, findings);
  }
  find_redirects(host, findings);
  if (!host.gpus.empty() || !host.rdma.empty()) find_translation(host, findings);
  find_unset_numa(host, findings);
}

}  // namespace gradhaul

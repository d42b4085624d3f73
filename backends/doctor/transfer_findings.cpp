// What devices are set to send over PCIe: sizes of packets and requests, and their ordering.

#include <algorithm>

#include "backends/doctor/findings.h"
#include "backends/doctor/number_text.h"
#include "backends/host/pci_topology.h"
#include "core/network_framing.h"
#include "core/pcie_framing.h"

namespace gradhaul {
namespace {

constexpr int kUsualPayload = 256;
constexpr int kDefaultRequest = 512;
constexpr int kTunedRequest = 4096;

// Of a write's packets, in percent.
std::string share_text(int max_payload) {
  return number_text(payload_share({max_payload}, kPostedOverhead) * 100);
}

std::string see(const PciFunction& function) {
  return "sudo lspci -vvs " + function.address + " | grep -A2 DevCtl:";
}

Evidence config_of(const PciFunction& function, const std::string& text) {
  return {function.folder + "/config", text};
}

void find_payload(const HostInventory& host, int function, Findings& findings) {
  const PciFunction& device = host.pci[function];
  if (!device.config.express) return;
  const int payload = device.config.express->max_payload;
  int supported = device.config.express->max_payload_supported;
  for (const int above : bridges_above(host, function)) {
    const PciFunction& bridge = host.pci[above];
    if (!bridge.config.express) return;
    supported = std::min(supported, bridge.config.express->max_payload_supported);
    if (bridge.config.express->max_payload >= payload) continue;
    findings.push_back(
        {Severity::kProblem,
         "max-payload-mismatch",
         function_label(host, function),
         "it may send packets of " + std::to_string(payload) + " bytes, " + bridge.address +
             " above it takes " + std::to_string(bridge.config.express->max_payload),
         {config_of(device, "MaxPayload " + std::to_string(payload)),
          config_of(bridge, "MaxPayload " + std::to_string(bridge.config.express->max_payload))},
         "A packet that is too large is malformed to the bridge: it is dropped, and "
         "the device fails or is reset.",
         "Boot with pci=pcie_bus_safe, and set it nowhere by hand.",
         see(device)});
    return;
  }
  if (payload >= std::min(supported, kUsualPayload)) return;
  findings.push_back({Severity::kWarning,
                      "max-payload",
                      function_label(host, function),
                      "it sends at most " + std::to_string(payload) +
                          " bytes in a PCIe packet; everything on its "
                          "way can do " +
                          std::to_string(supported),
                      {config_of(device, "MaxPayload " + std::to_string(payload))},
                      "Headers take more of the link: " + share_text(payload) +
                          " % is payload, where " + share_text(std::min(supported, kUsualPayload)) +
                          " % could be.",
                      "Set the largest in the firmware, or boot with pci=pcie_bus_perf.",
                      see(device)});
}

double port_rate(const HostInventory& host, int function) {
  double rate = 0;
  for (const RdmaDevice* device : host.rdma_of(function)) {
    for (const RdmaPort& port : device->ports) rate = std::max(rate, port.rate.value_or(0));
  }
  return rate;
}

void find_read_request(const HostInventory& host, int function, Findings& findings) {
  const PciFunction& nic = host.pci[function];
  const int request = nic.config.express->max_read_request;
  const bool slow = request < kDefaultRequest;
  const bool tunable = request < kTunedRequest && port_rate(host, function) >= 200;
  if (!slow && !tunable) return;
  findings.push_back(
      {slow ? Severity::kWarning : Severity::kFact,
       "max-read-request",
       function_label(host, function),
       "it asks for at most " + std::to_string(request) + " bytes in one PCIe read",
       {config_of(nic, "MaxReadReq " + std::to_string(request))},
       "With a read of 1.2 us and 32 tags, requests of this size fetch " +
           number_text(32.0 * request / 1.2e3) +
           " GB/s, with 256 tags eight times that; NVIDIA's "
           "tuning guide sets 4096 bytes for NICs of 200 Gb/s and more.",
       "setpci -s " + nic.address + " CAP_EXP+8.w=5000:7000, as root, before traffic runs.",
       see(nic)});
}

void find_ordering(const HostInventory& host, int function, Findings& findings) {
  const PciFunction& nic = host.pci[function];
  if (nic.config.express->relaxed_ordering) return;
  findings.push_back(
      {Severity::kWarning,
       "relaxed-ordering-off",
       function_label(host, function),
       "the device may not mark its writes as free to overtake each other",
       {config_of(nic, "RlxdOrd-")},
       "Strictly ordered writes wait for each other at the memory: on an AMD EPYC, a "
       "NIC of 200 Gb/s did 150 (UCX, pull request 8062).",
       "Enable PCI relaxed ordering for this slot in the firmware, or "
       "setpci -s " +
           nic.address + " CAP_EXP+8.w=10:10 as root.",
       see(nic)});
}

}  // namespace

void find_in_transfers(const HostInventory& host, Findings& findings) {
  for (const int gpu : host.gpus) find_payload(host, gpu, findings);
  for (const int nic : one_of_each_slot(host, fabric_nics(host))) {
    find_payload(host, nic, findings);
    if (!host.pci[nic].config.express || host.rdma_of(nic).empty()) continue;
    find_read_request(host, nic, findings);
    find_ordering(host, nic, findings);
  }
}

}  // namespace gradhaul

// PCIe links: what they trained to, against what their ends can do.

#include <algorithm>
#include <set>

#include "backends/doctor/findings.h"
#include "backends/doctor/number_text.h"
#include "backends/host/pci_topology.h"

namespace gradhaul {
namespace {

constexpr int kUsualPayload = 256;

bool is_gpu(const HostInventory& host, int function) {
  return std::find(host.gpus.begin(), host.gpus.end(), function) != host.gpus.end();
}

// Devices that collectives use, and the switches above them.
std::vector<int> ends_of_links(const HostInventory& host) {
  std::vector<int> devices = host.gpus;
  const std::vector<int> nics = fabric_nics(host);
  devices.insert(devices.end(), nics.begin(), nics.end());
  std::vector<int> ends = one_of_each_slot(host, devices);
  std::set<int> switches;
  for (const int device : devices) {
    for (const int above : switches_above(host, device)) switches.insert(above);
  }
  ends.insert(ends.end(), switches.begin(), switches.end());
  return ends;
}

std::string link_text(double speed, int width) {
  return number_text(speed) + " GT/s x" + std::to_string(width);
}

std::string payload_text(double speed, int width) {
  return number_text(pcie_payload_rate(speed, width, kUsualPayload)) + " GB/s";
}

std::string label_of(const HostInventory& host, int function) {
  const PciFunction& end = host.pci[function];
  return end.is_bridge() ? "switch " + end.address : function_label(host, function);
}

std::string see(const PciFunction& end) { return "lspci -vvs " + end.address + " | grep LnkSta:"; }

std::vector<Evidence> evidence_of(const PciFunction& end, const PcieLinkCheck& check) {
  return {{end.folder + "/current_link_speed", number_text(*check.speed) + " GT/s"},
          {end.folder + "/current_link_width", std::to_string(*check.width)}};
}

void find_trained_down(const HostInventory& host, int function, Findings& findings) {
  const PcieLinkCheck check = check_link(host, function);
  if (!check.speed || !check.width || !check.limit_speed || !check.limit_width) return;
  const PciFunction& end = host.pci[function];
  const std::string runs =
      link_text(*check.speed, *check.width) + ", " + payload_text(*check.speed, *check.width) +
      " of payload; both ends can " + link_text(*check.limit_speed, *check.limit_width) + ", " +
      payload_text(*check.limit_speed, *check.limit_width);
  if (*check.width < *check.limit_width) {
    findings.push_back(
        {Severity::kProblem, "pcie-link-width", label_of(host, function),
         "its link runs at " + runs, evidence_of(end, check),
         "All that passes between this device and the rest goes through fewer lanes.",
         "Reseat the card, riser or cable; then try another slot. Look for bent pins and for a "
         "slot "
         "that the firmware splits (bifurcation).",
         see(end)});
  }
  if (*check.speed >= *check.limit_speed) return;
  if (is_gpu(host, function)) {
    findings.push_back(
        {Severity::kWarning, "pcie-link-speed-gpu", label_of(host, function),
         "its link runs at " + runs, evidence_of(end, check),
         "An idle GPU may lower its link to save power; one that stays there under load is slow.",
         "Look again while a kernel runs. If it stays, reseat the card, and look in the firmware "
         "for a limit to the slot's generation.",
         "nvidia-smi --query-gpu=pci.bus_id,pcie.link.gen.current,pcie.link.gen.max --format=csv"});
  } else {
    findings.push_back({Severity::kProblem, "pcie-link-speed", label_of(host, function),
                        "its link runs at " + runs, evidence_of(end, check),
                        "All that passes between this device and the rest goes at the lower speed.",
                        "Reseat the card, riser or cable; look in the firmware for a limit to the "
                        "slot's generation; retimers may need new firmware.",
                        see(end)});
  }
}

bool trained_down(const PcieLinkCheck& check) {
  return (check.speed && check.limit_speed && *check.speed < *check.limit_speed) ||
         (check.width && check.limit_width && *check.width < *check.limit_width);
}

// The device could do more than where it is plugged in. Of a NIC that counts only where its ports
// need it.
void find_limiting_slot(const HostInventory& host, int function, Findings& findings) {
  const PciFunction& end = host.pci[function];
  const PcieLinkCheck check = check_link(host, function);
  if (!check.limit_speed || !check.limit_width || end.link.max_speed.value_or(0) <= 0) return;
  const int own_width = end.link.max_width.value_or(*check.limit_width);
  if (end.is_network() ||
      (*end.link.max_speed <= *check.limit_speed && own_width <= *check.limit_width)) {
    return;
  }
  const PciFunction& port = host.pci[end.parent];
  findings.push_back(
      {Severity::kWarning,
       "pcie-slot-limits",
       label_of(host, function),
       "it can do " + link_text(*end.link.max_speed, own_width) + ", the port above it (" +
           port.address + ") allows " + link_text(*check.limit_speed, *check.limit_width) + ", " +
           payload_text(*check.limit_speed, *check.limit_width) + " of payload",
       {{end.folder + "/max_link_speed", number_text(*end.link.max_speed) + " GT/s"},
        {port.folder + "/max_link_speed", number_text(port.link.max_speed.value_or(0)) + " GT/s"},
        {end.folder + "/max_link_width", std::to_string(own_width)},
        {port.folder + "/max_link_width", std::to_string(port.link.max_width.value_or(0))}},
       "The slot, not the device, sets what passes.",
       "Move it to a wider or newer slot, if the host has one; the firmware may limit this one.",
       "lspci -vvs " + port.address + " | grep LnkCap:"});
}

// What a NIC's active ports bring, all functions of its slot together, in Gb/s.
double rate_of_slot(const HostInventory& host, int function) {
  const std::string& address = host.pci[function].address;
  const std::string slot = address.substr(0, address.find('.') + 1);
  double rate = 0;
  for (const RdmaDevice& device : host.rdma) {
    if (device.pci < 0 || !host.pci[device.pci].address.starts_with(slot)) continue;
    for (const RdmaPort& port : device.ports) {
      if (port.active()) rate += port.rate.value_or(0);
    }
  }
  return rate;
}

void find_narrow_nic(const HostInventory& host, int function, Findings& findings) {
  const PciFunction& end = host.pci[function];
  const PcieLinkCheck check = check_link(host, function);
  if (!end.is_network() || !check.speed || !check.width || trained_down(check)) return;
  const double ports = rate_of_slot(host, function) / 8;
  const double link = pcie_payload_rate(*check.speed, *check.width, kUsualPayload);
  if (link >= ports) return;
  findings.push_back(
      {Severity::kWarning, "nic-pcie-below-port", label_of(host, function),
       "its ports bring " + number_text(ports) + " GB/s, its PCIe link, " +
           link_text(*check.speed, *check.width) + ", carries " + number_text(link) +
           " GB/s of payload",
       evidence_of(end, check), "The wire can never be filled: PCIe decides what this NIC does.",
       "Move it to a wider or newer slot; or reckon with the lower rate.", see(end)});
}

}  // namespace

void find_in_links(const HostInventory& host, Findings& findings) {
  for (const int end : ends_of_links(host)) {
    find_trained_down(host, end, findings);
    find_limiting_slot(host, end, findings);
    find_narrow_nic(host, end, findings);
  }
}

}  // namespace gradhaul

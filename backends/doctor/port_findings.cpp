// RDMA ports: whether they carry traffic, and at what rate (InfiniBand Architecture 1.4, sections
// 7.2.6 and 14.2.5.6: states of the link and of the physical port).

#include <algorithm>
#include <map>

#include "backends/doctor/findings.h"
#include "backends/doctor/known_devices.h"
#include "backends/doctor/number_text.h"
#include "core/infiniband_framing.h"
#include "core/network_framing.h"

namespace gradhaul {
namespace {

enum LinkState : int { kDown = 1, kInit = 2, kArmed = 3 };

struct PortTrouble {
  const char* id;
  const char* seen;
  const char* why;
  const char* remedy;
};

// What a port that is down is waiting for, by its physical state.
PortTrouble trouble_of_down_port(int physical) {
  switch (physical) {
    case 1:
      return {"port-sleep", "it sleeps", "A sleeping port looks for no other end.",
              "Wake it: ibportstate LID PORT reset, or mlxlink -d DEVICE --port_state TG."};
    case 2:
      return {
          "port-polling", "it is polling: it hears nothing from another end",
          "No cable, no power at the other end, a disabled port there, or a module that does "
          "not fit.",
          "Check the cable and its lights at both ends; mlxlink -d DEVICE -m shows the module."};
    case 3:
      return {"port-disabled", "it is switched off", "Somebody disabled it, here or by firmware.",
              "Enable it: ibportstate -D 0 PORT enable, ip link set NETDEV up, or "
              "mlxlink -d DEVICE --port_state UP."};
    case 4:
      return {"port-training", "it is training, and has not agreed with the other end yet",
              "The ends hear each other and cannot agree on speed and width, or only just began.",
              "If it stays: speeds that are forced at one end, FEC that differs, or a bad cable."};
    case 6:
      return {"port-error-recovery", "its link recovers from errors",
              "A link that does so again and again is a bad cable or module.",
              "Swap the cable; see the symbol errors at both ends."};
    default:
      return {"port-down", "it is down", "It carries nothing.",
              "See what the other end says of the link."};
  }
}

std::string label_of(const RdmaDevice& device, const RdmaPort& port) {
  return device.name + " port " + std::to_string(port.number);
}

std::vector<Evidence> states_of(const RdmaPort& port) {
  return {{port.folder + "/state", port.state_text},
          {port.folder + "/phys_state", port.physical_text}};
}

bool is_active(const HostInventory& host, int nic) {
  const auto devices = host.rdma_of(nic);
  return std::any_of(devices.begin(), devices.end(), [](const RdmaDevice* device) {
    return std::any_of(device->ports.begin(), device->ports.end(),
                       [](const RdmaPort& port) { return port.active(); });
  });
}

// Whether something has to do without: a GPU none of whose nearest NICs works, or everybody.
bool is_missed(const HostInventory& host, const RdmaDevice& device) {
  const std::vector<int> nics = fabric_nics(host);
  if (std::none_of(nics.begin(), nics.end(), [&](int nic) { return is_active(host, nic); })) {
    return true;
  }
  if (device.pci < 0 || is_active(host, device.pci)) return false;
  return std::any_of(host.gpus.begin(), host.gpus.end(), [&](int gpu) {
    const std::vector<int> nearest = nearest_nics(host, gpu);
    return std::find(nearest.begin(), nearest.end(), device.pci) != nearest.end() &&
           std::none_of(nearest.begin(), nearest.end(),
                        [&](int nic) { return is_active(host, nic); });
  });
}

void find_state(const HostInventory& host, const RdmaDevice& device, const RdmaPort& port,
                Findings& findings) {
  const std::string see = "ibstat " + device.name;
  if (port.state == kInit && port.physical_state == 5 && !port.ethernet()) {
    findings.push_back({Severity::kProblem, "port-no-subnet-manager", label_of(device, port),
                        "its link is up, but stays at INIT: no subnet manager has set it up",
                        states_of(port),
                        "Without a LID nothing can be addressed: the port carries no data at all.",
                        "Start a subnet manager: opensm on one host, or in a managed switch; where "
                        "one runs, see whether it reaches this port (sminfo, ibdiagnet).",
                        see});
  } else if (port.state == kArmed) {
    findings.push_back({Severity::kProblem, "port-armed", label_of(device, port),
                        "it is armed: the subnet manager set it up, and has not yet made it active",
                        states_of(port),
                        "Only an active port carries data. One that stays armed waits for the "
                        "subnet manager, or for a first packet from the other end.",
                        "See what holds up the subnet manager's sweep (its log, ibdiagnet).", see});
  } else if (port.state == kInit) {
    findings.push_back({Severity::kProblem, "port-init", label_of(device, port), "it stays at INIT",
                        states_of(port), "Only an active port carries data.",
                        "Bring its network interface up.", see});
  } else if (port.state == kDown) {
    const PortTrouble trouble = trouble_of_down_port(port.physical_state.value_or(0));
    findings.push_back({is_missed(host, device) ? Severity::kProblem : Severity::kWarning,
                        trouble.id, label_of(device, port), trouble.seen, states_of(port),
                        trouble.why, trouble.remedy, see});
  }
}

void find_width(const RdmaDevice& device, const RdmaPort& port, Findings& findings) {
  if (!port.active() || port.ethernet() || port.width != 1) return;
  findings.push_back(
      {Severity::kProblem,
       "port-width",
       label_of(device, port),
       "its link runs on one lane: " + port.rate_text,
       {{port.folder + "/rate", port.rate_text}},
       "A quarter of the rate that four lanes give.",
       "Reseat or swap the cable and its modules; see ibportstate for what both ends "
       "support.",
       "ibstat " + device.name});
}

using ModelAndLayer = std::pair<int, std::string>;

// The greatest rate of active ports, of each kind of device.
std::map<ModelAndLayer, double> greatest_rates(const HostInventory& host) {
  std::map<ModelAndLayer, double> greatest;
  for (const RdmaDevice& device : host.rdma) {
    if (device.pci < 0) continue;
    for (const RdmaPort& port : device.ports) {
      if (!port.active() || !port.rate) continue;
      double& rate = greatest[{host.pci[device.pci].device, port.link_layer}];
      rate = std::max(rate, *port.rate);
    }
  }
  return greatest;
}

void find_rate(const HostInventory& host, const RdmaDevice& device, const RdmaPort& port,
               double greatest, Findings& findings) {
  if (!port.active() || !port.rate || port.width == 1) return;
  const PciFunction& function = host.pci[device.pci];
  const KnownDevice* known = known_device(function.vendor, function.device);
  const std::string name = device_name(function.vendor, function.device);
  if (*port.rate < greatest) {
    findings.push_back({Severity::kProblem,
                        "port-rate-differs",
                        label_of(device, port),
                        "it runs at " + port.rate_text + ", another " + name + " of this host at " +
                            number_text(greatest) + " Gb/s",
                        {{port.folder + "/rate", port.rate_text}},
                        "A collective goes at the pace of its slowest rail.",
                        "Compare cables, and the ports of the switch: what the other end supports, "
                        "and whether a speed is forced.",
                        "ibstat " + device.name});
  } else if (known != nullptr && *port.rate < known->port_rate) {
    findings.push_back({Severity::kFact,
                        "port-rate-below-model",
                        label_of(device, port),
                        "it runs at " + port.rate_text + "; the fastest cards of its kind, " +
                            name + ", do " + number_text(known->port_rate) + " Gb/s",
                        {{port.folder + "/rate", port.rate_text}},
                        "Either the card is a slower one, or the switch or cable is.",
                        "",
                        "ibv_devinfo -v -d " + device.name + " | grep active_speed"});
  }
}

std::string payload_percent(int mtu) {
  return number_text(payload_share({mtu}, kInfinibandOverhead) * 100);
}

void find_mtu(const RdmaDevice& device, const RdmaPort& port, Findings& findings) {
  if (port.ethernet() || !port.active() || !port.mtu || !port.most_mtu) return;
  const int mtu = *port.mtu;
  const int most = *port.most_mtu;
  if (mtu >= most) return;
  findings.push_back(
      {Severity::kWarning,
       "port-mtu",
       label_of(device, port),
       "its packets have " + std::to_string(mtu) + " bytes, and it could " + std::to_string(most),
       {{"ibv_query_port",
         "active_mtu " + std::to_string(mtu) + ", max_mtu " + std::to_string(most)}},
       payload_percent(mtu) + " % of the wire is payload, where " + payload_percent(most) +
           " % could be; and there are " + std::to_string(most / mtu) +
           " times as many packets to handle.",
       "The subnet manager takes the smaller of what both ends of the cable can: see the switch's "
       "port (smpquery portinfo LID PORT), and mtu= in partitions.conf of opensm.",
       "ibv_devinfo -d " + device.name + " | grep mtu"});
}

}  // namespace

void find_in_ports(const HostInventory& host, Findings& findings) {
  const std::map<ModelAndLayer, double> greatest = greatest_rates(host);
  for (const RdmaDevice& device : host.rdma) {
    for (const RdmaPort& port : device.ports) {
      find_state(host, device, port, findings);
      if (device.pci < 0) continue;
      find_width(device, port, findings);
      find_mtu(device, port, findings);
      const auto rate = greatest.find({host.pci[device.pci].device, port.link_layer});
      if (rate != greatest.end()) find_rate(host, device, port, rate->second, findings);
    }
  }
}

}  // namespace gradhaul

// RoCE: MTU, GIDs, traffic class; and bonds of Ethernet ports.

#include <algorithm>
#include <map>
#include <set>

#include "backends/doctor/findings.h"
#include "backends/doctor/number_text.h"
#include "core/network_framing.h"
#include "core/roce_framing.h"

namespace gradhaul {
namespace {

constexpr const char* kMappedIpv4 = "0000:0000:0000:0000:0000:ffff:";

// The kernel leaves room for GRH, UDP, BTH, the longest extended headers and the ICRC
// (include/rdma/ib_addr.h, iboe_get_mtu).
int rdma_mtu_of(int ethernet) {
  constexpr int kHeaders = 40 + 8 + 12 + 4 + 28 + 4;
  for (const int mtu : {4096, 2048, 1024, 512}) {
    if (ethernet - kHeaders >= mtu) return mtu;
  }
  return 256;
}

std::string payload_percent(int mtu) {
  return number_text(payload_share({mtu}, kRoceOverhead) * 100);
}

struct RocePort {
  const RdmaDevice* device;
  const RdmaPort* port;
  const NetDevice* netdev;
  std::string label() const { return device->name + " port " + std::to_string(port->number); }
};

std::vector<RocePort> roce_ports(const HostInventory& host) {
  std::vector<RocePort> ports;
  for (const RdmaDevice& device : host.rdma) {
    if (device.pci < 0) continue;
    for (const RdmaPort& port : device.ports) {
      if (!port.ethernet() || !port.active()) continue;
      const NetDevice* netdev = nullptr;
      for (const RdmaGid& gid : port.gids) {
        if (netdev == nullptr && !gid.netdev.empty()) netdev = host.net_device(gid.netdev);
      }
      for (const NetDevice& candidate : host.net) {
        if (netdev == nullptr && candidate.pci == device.pci) netdev = &candidate;
      }
      ports.push_back({&device, &port, netdev});
    }
  }
  return ports;
}

// As the port tells by verbs, else as drivers take it over from the interface.
int mtu_of(const RocePort& roce) { return roce.port->mtu.value_or(rdma_mtu_of(*roce.netdev->mtu)); }

// What follows from the interface's MTU is not what packets have: whether that is so.
bool find_mtu_apart(const RocePort& roce, Findings& findings) {
  if (!roce.port->mtu || roce.netdev == nullptr || !roce.netdev->mtu) return false;
  const int ethernet = *roce.netdev->mtu;
  const int mtu = *roce.port->mtu;
  const int fits = std::min(rdma_mtu_of(ethernet), roce.port->most_mtu.value_or(4096));
  if (mtu == fits) return false;
  const std::string& name = roce.netdev->name;
  findings.push_back(
      {Severity::kWarning,
       "roce-mtu-apart",
       roce.label(),
       "RDMA's packets have " + std::to_string(mtu) + " bytes, and the MTU of " + name + ", " +
           std::to_string(ethernet) + ", is one for " + std::to_string(fits),
       {{roce.netdev->folder + "/mtu", std::to_string(ethernet)},
        {"ibv_query_port", "active_mtu " + std::to_string(mtu)}},
       mtu < fits ? payload_percent(mtu) + " % of the wire is payload, where " +
                        payload_percent(fits) + " % could be."
                  : "Packets are longer than the interface takes: what they meet that goes by its "
                    "MTU drops them, and nothing arrives.",
       "ip link set " + name +
           " down, then up: drivers take the MTU over as an interface comes up.",
       "ibv_devinfo -d " + roce.device->name + " | grep mtu"});
  return true;
}

void find_mtu(const RocePort& roce, Findings& findings) {
  if (roce.netdev == nullptr || !roce.netdev->mtu) return;
  const int ethernet = *roce.netdev->mtu;
  const int mtu = mtu_of(roce);
  if (mtu >= 4096) return;
  findings.push_back({Severity::kWarning,
                      "roce-mtu",
                      roce.label(),
                      roce.netdev->name + " has an MTU of " + std::to_string(ethernet) +
                          ": RDMA gets packets of " + std::to_string(mtu) +
                          " bytes, of 4096 there could be",
                      {{roce.netdev->folder + "/mtu", std::to_string(ethernet)}},
                      payload_percent(mtu) + " % of the wire is payload, where " +
                          payload_percent(4096) + " % could be; and there are " +
                          std::to_string(4096 / mtu) + " times as many packets to handle.",
                      "ip link set " + roce.netdev->name +
                          " mtu 9000 (4200 is enough), on all hosts and switches.",
                      "ibv_devinfo -d " + roce.device->name + " | grep mtu"});
}

// Whether they differ.
bool find_different_mtu(const std::vector<RocePort>& ports, Findings& findings) {
  std::map<int, std::vector<std::string>> names;
  std::vector<Evidence> evidence;
  for (const RocePort& roce : ports) {
    if (roce.netdev == nullptr || !roce.netdev->mtu) continue;
    names[mtu_of(roce)].push_back(roce.netdev->name);
    evidence.push_back({roce.netdev->folder + "/mtu", std::to_string(*roce.netdev->mtu)});
  }
  if (names.size() < 2) return false;
  std::vector<std::string> parts;
  for (const auto& [mtu, netdevs] : names) {
    parts.push_back(std::to_string(mtu) + " on " + list_text(netdevs));
  }
  findings.push_back({Severity::kWarning, "roce-mtu-differs", "host",
                      "RDMA packets have different sizes: " + list_text(parts), std::move(evidence),
                      payload_percent(names.begin()->first) +
                          " % of the wire is payload with the smallest, " +
                          payload_percent(names.rbegin()->first) +
                          " % with the largest, so that rails differ in speed; and where one end "
                          "sends more than the other takes, nothing arrives.",
                      "Set one MTU on all.", "ip link | grep mtu"});
  return true;
}

bool is_v2(const RdmaGid& gid) { return gid.type == "RoCE v2"; }
bool is_ipv4(const RdmaGid& gid) { return gid.gid.starts_with(kMappedIpv4); }

void find_gids(const RocePort& roce, Findings& findings) {
  const std::vector<RdmaGid>& gids = roce.port->gids;
  // What is not readable may be what is looked for.
  const bool typed =
      std::all_of(gids.begin(), gids.end(), [](const RdmaGid& gid) { return !gid.type.empty(); });
  if (!typed || !roce.port->gids_listed) return;
  std::vector<Evidence> evidence;
  for (const RdmaGid& gid : gids) {
    evidence.push_back({roce.port->folder + "/gids/" + std::to_string(gid.index),
                        gid.gid + (gid.type.empty() ? "" : ", " + gid.type)});
  }
  const std::string see = "grep -H . " + roce.port->folder + "/gid_attrs/types/* 2>/dev/null";
  const std::string address = "Give " +
                              (roce.netdev == nullptr ? "its interface" : roce.netdev->name) +
                              " an IPv4 address.";
  if (std::none_of(gids.begin(), gids.end(), is_v2)) {
    findings.push_back(
        {Severity::kProblem, "gid-no-roce-v2", roce.label(),
         gids.empty() ? "its table of GIDs is empty"
                      : "its table of GIDs holds no entry for RoCE v2",
         std::move(evidence),
         "RoCE v1 does not cross a router, and does not talk with hosts that use v2: "
         "their connections end in \"transport retry counter exceeded\".",
         address + " Where RoCE v1 is forced (cma_roce_mode, firmware), allow v2.", see});
  } else if (std::none_of(gids.begin(), gids.end(),
                          [](const RdmaGid& gid) { return is_v2(gid) && is_ipv4(gid); })) {
    findings.push_back({Severity::kProblem, "gid-no-ipv4", roce.label(),
                        "its table of GIDs holds no IPv4 address for RoCE v2", std::move(evidence),
                        "NCCL looks for one unless told otherwise (NCCL_IB_ADDR_FAMILY); the "
                        "link-local GIDs that are there reach nobody behind a router.",
                        address, see});
  }
}

// "Wrong index": tools that take one index for all NICs pick different kinds of GIDs.
void find_different_indices(const std::vector<RocePort>& ports, Findings& findings) {
  std::map<int, std::vector<std::string>> labels;
  std::vector<Evidence> evidence;
  for (const RocePort& roce : ports) {
    const auto& gids = roce.port->gids;
    const auto found = std::find_if(gids.begin(), gids.end(),
                                    [](const RdmaGid& gid) { return is_v2(gid) && is_ipv4(gid); });
    if (found == gids.end()) continue;
    labels[found->index].push_back(roce.device->name);
    evidence.push_back({roce.port->folder + "/gid_attrs/types/" + std::to_string(found->index),
                        found->gid + ", " + found->type});
  }
  if (labels.size() < 2) return;
  std::vector<std::string> parts;
  for (const auto& [index, names] : labels) {
    parts.push_back("index " + std::to_string(index) + " on " + list_text(names));
  }
  findings.push_back({Severity::kWarning, "gid-index-differs", "host",
                      "the GID for RoCE v2 over IPv4 has different places: " + list_text(parts),
                      std::move(evidence),
                      "One NCCL_IB_GID_INDEX (or -x of perftest) for all picks another kind of GID "
                      "on some: they do not connect, or not over v2.",
                      "Leave the index to the library (NCCL 2.21 and later choose), or make the "
                      "addresses of the interfaces alike.",
                      "show_gids"});
}

void find_traffic_class(const RocePort& roce, Findings& findings) {
  if (roce.port->traffic_class == 0) {
    const std::string file =
        roce.device->folder + "/tc/" + std::to_string(roce.port->number) + "/traffic_class";
    findings.push_back({Severity::kWarning,
                        "roce-traffic-class",
                        roce.label(),
                        "its traffic class is 0",
                        {{file, "tclass=0"}},
                        "Where PFC protects another priority, and as a rule it does, RoCE is sent "
                        "unprotected: it loses packets, and each costs go-back-N.",
                        "Set what the switches expect, often 106 (DSCP 26, ECN): "
                        "echo 106 > " +
                            file + ", or NCCL_IB_TC=106.",
                        "cat " + file});
  }
  if (roce.netdev != nullptr && roce.netdev->marks_congestion == false) {
    findings.push_back({Severity::kWarning,
                        "roce-ecn-off",
                        roce.label(),
                        roce.netdev->name + " answers congestion marks on no priority",
                        {{roce.netdev->folder + "/ecn/roce_np/enable", "0 on all priorities"}},
                        "Senders are not told of congestion; only PFC is left, which stops "
                        "everybody on the way.",
                        "echo 1 > " + roce.netdev->folder +
                            "/ecn/roce_np/enable/3 (and roce_rp), "
                            "for the priority in use.",
                        "grep -H . " + roce.netdev->folder + "/ecn/roce_*/enable/*"});
  }
}

std::string priorities_text(unsigned mask) {
  std::vector<std::string> priorities;
  for (int priority = 0; priority < 8; ++priority) {
    if ((mask >> priority & 1) != 0) priorities.push_back(std::to_string(priority));
  }
  if (priorities.empty()) return "no priority";
  return (priorities.size() == 1 ? "priority " : "priorities ") + list_text(priorities);
}

void find_flow_control(const RocePort& roce, Findings& findings) {
  if (roce.netdev == nullptr || !roce.netdev->priorities) return;
  const PortPriorities& priorities = *roce.netdev->priorities;
  const std::string& name = roce.netdev->name;
  const std::string see = "dcb pfc show dev " + name + "; dcb app show dev " + name;
  const std::string loses =
      "Where a switch runs over, RoCE loses packets, and each costs go-back-N; unless the network "
      "is meant to be lossy, with congestion control and NICs that repeat selectively.";
  if (priorities.pfc == 0) {
    findings.push_back({Severity::kWarning,
                        "roce-pfc-off",
                        roce.label(),
                        "PFC protects no priority of " + name,
                        {{"dcb pfc show dev " + name, "prio-pfc off for all"}},
                        loses,
                        "Enable it for the priority of RoCE, here and at the switch: dcb pfc set "
                        "dev " +
                            name + " prio-pfc 3:on, or mlnx_qos.",
                        see});
    return;
  }
  // Only what somebody has set is known to hold: ports may also go by VLAN tags.
  if (priorities.of_dscp.empty() || !roce.port->traffic_class) return;
  const int dscp = *roce.port->traffic_class / 4;
  const auto found = priorities.of_dscp.find(dscp);
  const int priority = found == priorities.of_dscp.end() ? 0 : found->second;
  if ((priorities.pfc >> priority & 1) != 0) return;
  findings.push_back(
      {Severity::kWarning,
       "roce-pfc-other-priority",
       roce.label(),
       "its traffic class " + std::to_string(*roce.port->traffic_class) + " (DSCP " +
           std::to_string(dscp) + ") goes by priority " + std::to_string(priority) + " of " + name +
           ", and PFC protects " + priorities_text(priorities.pfc),
       {{"dcb pfc show dev " + name, "prio-pfc on for " + priorities_text(priorities.pfc)},
        {"dcb app show dev " + name, found == priorities.of_dscp.end()
                                         ? "no entry for DSCP " + std::to_string(dscp)
                                         : std::to_string(dscp) + ":" + std::to_string(priority)}},
       loses,
       "Give RoCE the traffic class of a protected priority (NCCL_IB_TC), or protect this one, on "
       "all "
       "hosts and switches alike.",
       see});
}

void find_in_bond(const HostInventory& host, const NetDevice& bond, Findings& findings) {
  if (bond.bond_mode.empty() || bond.members.empty()) return;
  const std::string see = "cat /proc/net/bonding/" + bond.name;
  if (bond.bond_mode == "active-backup" && bond.members.size() > 1) {
    findings.push_back({Severity::kWarning,
                        "bond-one-port",
                        bond.name,
                        "the bond of " + list_text(bond.members) + " uses one port at a time",
                        {{bond.folder + "/bonding/mode", bond.bond_mode}},
                        "The other ports stand by: one in " + std::to_string(bond.members.size()) +
                            " of the bandwidth.",
                        "Mode 802.3ad, with LACP at the switch, uses all.",
                        see});
  }
  if (bond.bond_mode == "802.3ad" && bond.bond_hash == "layer2") {
    findings.push_back(
        {Severity::kWarning,
         "bond-hash",
         bond.name,
         "the bond spreads by MAC addresses alone",
         {{bond.folder + "/bonding/xmit_hash_policy", bond.bond_hash}},
         "All TCP traffic between two hosts takes one port. (RoCE on mlx5 spreads by "
         "queue pair: use several.)",
         "ip link set " + bond.name + " type bond xmit_hash_policy layer3+4",
         see});
  }
  for (const std::string& member : bond.members) {
    const NetDevice* device = host.net_device(member);
    if (device == nullptr || device->bond_state.empty() || device->bond_state == "up") continue;
    findings.push_back({Severity::kProblem,
                        "bond-member-down",
                        member,
                        "as a member of " + bond.name + " it is " + device->bond_state,
                        {{device->folder + "/bonding_slave/mii_status", device->bond_state}},
                        "The bond works on with what is left of its bandwidth, and says nothing.",
                        "Check its cable and the switch's port; ip link set " + member + " up.",
                        see});
  }
}

}  // namespace

void find_in_roce(const HostInventory& host, Findings& findings) {
  const std::vector<RocePort> ports = roce_ports(host);
  const bool different = find_different_mtu(ports, findings);
  for (const RocePort& roce : ports) {
    if (!find_mtu_apart(roce, findings) && !different) find_mtu(roce, findings);
    find_gids(roce, findings);
    find_traffic_class(roce, findings);
    find_flow_control(roce, findings);
  }
  find_different_indices(ports, findings);
  for (const NetDevice& device : host.net) find_in_bond(host, device, findings);
}

}  // namespace gradhaul

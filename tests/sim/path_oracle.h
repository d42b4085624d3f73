#pragma once

// Which links of a node's PCIe tree a transfer crosses, and what it puts on each: walked without
// the simulator's fabric, by striking out what two devices have above them in common.

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "core/cluster.h"
#include "core/placement.h"

namespace gradhaul::oracle {

// The device, the switches above it, the socket.
inline std::vector<std::string> ancestry(const Node& node, const std::string& device) {
  std::vector<std::string> line{device};
  std::string parent;
  for (const PcieBranch& branch : node.pcie) {
    for (const std::string& child : branch.devices) {
      if (child == device) parent = branch.switch_name.empty() ? branch.parent : branch.switch_name;
    }
  }
  while (!parent.empty()) {
    line.push_back(parent);
    std::string next;
    for (const PcieBranch& branch : node.pcie) {
      if (branch.switch_name == parent) next = branch.parent;
    }
    parent = next;
  }
  return line;
}

struct PciePath {
  std::vector<std::string> up;    // elements whose uplink is taken
  std::vector<std::string> down;  // elements whose uplink is taken downwards, the highest first
  std::string root;               // the socket that is passed; empty: a switch turns it round
  std::string far_root;           // the other socket; empty: none
};

inline PciePath pcie_path(const Node& node, const std::string& from, const std::string& to) {
  std::vector<std::string> a = ancestry(node, from);
  std::vector<std::string> b = ancestry(node, to);
  std::string meeting;
  while (!a.empty() && !b.empty() && a.back() == b.back()) {
    meeting = a.back();
    a.pop_back();
    b.pop_back();
  }
  PciePath path;
  if (meeting.empty()) {
    path.root = a.back();
    path.far_root = b.back();
    a.pop_back();
    b.pop_back();
  } else if (meeting.starts_with("socket")) {
    path.root = meeting;
  }
  path.up = a;
  path.down.assign(b.rbegin(), b.rend());
  return path;
}

enum class PcieUse { kRequest, kCompletion, kWrite };

inline bool is_device(const std::string& element) {
  return element.starts_with("gpu") || element.starts_with("nic");
}
inline std::string uplink(const std::string& element) {
  return is_device(element) ? element + ".pcie" : element;
}

// Wire bytes by link name, each for one byte of payload.
using Loads = std::map<std::string, double>;

class LoadWalk {
 public:
  explicit LoadWalk(const Cluster& cluster) : cluster_(cluster), node_(cluster.node) {}

  // Adds one whole pass of every ring of a placement; each channel carries the same.
  void add_rings(const Placement& placement) {
    for (int channel = 0; channel < placement.channels; ++channel) {
      const std::vector<Rank>& ring = placement.rings[static_cast<std::size_t>(channel)];
      for (std::size_t i = 0; i < ring.size(); ++i) {
        add_hop(hop_between(placement, cluster_, channel, ring[i], ring[(i + 1) % ring.size()]));
      }
    }
  }

  void add_hop(const Hop& hop) {
    const int from = hop.source / cluster_.ranks_per_node;
    const int to = hop.destination / cluster_.ranks_per_node;
    const std::string source = gpu(hop.source % cluster_.ranks_per_node);
    const std::string destination = gpu(hop.destination % cluster_.ranks_per_node);
    if (hop.source_nic < 0) return add_peer(from, source, destination);
    std::string read = source;
    if (hop.relay_gpu >= 0) {
      read = gpu(hop.relay_gpu);
      add_peer(from, source, read);
    }
    const std::string out = "nic" + std::to_string(hop.source_nic);
    const std::string in = "nic" + std::to_string(hop.destination_nic);
    add_pcie(from, out, read, PcieUse::kRequest);
    add_pcie(from, read, out, PcieUse::kCompletion);
    const double mtu = static_cast<double>(cluster_.network.mtu.count);
    add(from, out + ".out", (mtu + 26) / mtu);
    if (cluster_.network.topology.kind != TopologyKind::kBackToBack) {
      add(to, in + ".in", (mtu + 26) / mtu);
    }
    add_pcie(to, in, destination, PcieUse::kWrite);
  }

  const Loads& loads() const { return loads_; }
  // Crossings, whatever their weight.
  const std::map<std::string, int>& crossings() const { return crossings_; }

 private:
  static std::string gpu(int index) { return "gpu" + std::to_string(index); }

  void add(int node, const std::string& link, double wire) {
    const std::string name = "node" + std::to_string(node) + "." + link;
    loads_[name] += wire;
    if (wire >= 1) ++crossings_[name];  // read requests alone are less
  }

  void add_peer(int node, const std::string& from, const std::string& to) {
    if (!node_.nvlink) return add_pcie(node, from, to, PcieUse::kWrite);
    add(node, from + ".nvlink.out", 1);
    add(node, to + ".nvlink.in", 1);
  }

  void add_pcie(int node, const std::string& from, const std::string& to, PcieUse use) {
    if (node_.pcie.empty()) return;
    const PciePath path = pcie_path(node_, from, to);
    double piece = static_cast<double>(node_.pcie_settings.max_payload.count);
    const auto wire = [&] {
      const double reads = static_cast<double>(
          std::min(cluster_.network.mtu, node_.pcie_settings.max_read_request).count);
      if (use == PcieUse::kRequest) return 24 / reads;
      return 1 + (use == PcieUse::kWrite ? 24 : 20) / piece;
    };
    for (const std::string& element : path.up) add(node, uplink(element) + ".up", wire());
    if (!path.root.empty()) {
      if (node_.root_complex.tlp_split) {
        piece = std::min(piece, static_cast<double>(node_.root_complex.tlp_split->count));
      }
      if (use != PcieUse::kRequest) {
        add(node, path.root + (use == PcieUse::kWrite ? ".peer_write" : ".peer_read"), 1);
      }
      if (!path.far_root.empty() && use != PcieUse::kRequest) {
        const std::string pair = path.root.substr(6) + "-" + path.far_root.substr(6);
        add(node, "socket_link." + pair, 1);
        add(node, "socket_link.peer." + pair, 1);
      }
    }
    for (const std::string& element : path.down) add(node, uplink(element) + ".down", wire());
  }

  const Cluster& cluster_;
  const Node& node_;
  Loads loads_;
  std::map<std::string, int> crossings_;
};

// Bytes a second a PCIe link carries, TLP headers included: GT/s, lanes, 128b/130b, and the share
// that DLLPs leave.
inline double pcie_bytes(PcieLink link, double dllp_overhead) {
  const double giga = link.generation == 3 ? 8 : link.generation == 4 ? 16 : 32;
  return giga * 1e9 * link.lanes * 128 / 130 / 8 * (1 - dllp_overhead);
}

}  // namespace gradhaul::oracle

#include "core/cluster_parts.h"

#include <algorithm>
#include <charconv>

#include "core/pcie_framing.h"

namespace gradhaul {
namespace {

std::string device_name(std::string kind, int number) {
  kind += std::to_string(number);
  return kind;
}

std::optional<ClusterPart> pcie_part(int node, std::optional<PcieLink> link) {
  if (!link) return std::nullopt;
  ClusterPart part;
  part.kind = PartKind::kPcieLink;
  part.node = node;
  part.pcie = *link;
  return part;
}

// "" or ".pcie" behind a NIC.
std::optional<ClusterPart> nic_part(const Cluster& cluster, int node, int nic,
                                    std::string_view rest) {
  if (nic >= cluster.node.nic_count) return std::nullopt;
  if (rest == ".pcie") return pcie_part(node, device_link(cluster.node, device_name("nic", nic)));
  if (!rest.empty() || cluster.nodes < 2) return std::nullopt;
  ClusterPart part;
  part.node = node;
  part.rate = std::min(cluster.network.link, cluster.node.nic.rate);
  return part;
}

// "", ".pcie" or ".nvlink" behind a GPU.
std::optional<ClusterPart> gpu_part(const Cluster& cluster, int node, int gpu,
                                    std::string_view rest) {
  if (gpu >= cluster.node.gpu_count) return std::nullopt;
  if (rest == ".pcie") return pcie_part(node, device_link(cluster.node, device_name("gpu", gpu)));
  ClusterPart part;
  part.node = node;
  part.gpu = gpu;
  part.kind = PartKind::kGpu;
  if (rest.empty()) return part;
  if (rest != ".nvlink" || !cluster.node.nvlink) return std::nullopt;
  part.kind = PartKind::kNvlink;
  part.rate = cluster.node.nvlink->bandwidth;
  return part;
}

std::optional<ClusterPart> node_part(const Cluster& cluster, int node, std::string_view rest) {
  if (node >= cluster.nodes || !rest.starts_with('.')) return std::nullopt;
  rest.remove_prefix(1);
  std::string_view behind = rest;
  if (const auto nic = take_number(behind, "nic")) return nic_part(cluster, node, *nic, behind);
  if (const auto gpu = take_number(behind, "gpu")) return gpu_part(cluster, node, *gpu, behind);
  return pcie_part(node, switch_uplink(cluster.node, rest));
}

}  // namespace

std::optional<int> take_number(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  const std::string_view digits = text.substr(prefix.size());
  int number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool canonical = error == std::errc{} && digits.front() != '-' && digits.front() != '+' &&
                         (digits.front() != '0' || end == digits.data() + 1);
  if (!canonical) return std::nullopt;
  text = digits.substr(static_cast<std::size_t>(end - digits.data()));
  return number;
}

std::optional<ClusterPart> find_part(const Cluster& cluster, std::string_view name) {
  if (const auto node = take_number(name, "node")) return node_part(cluster, *node, name);
  const auto leaf = take_number(name, "leaf");
  const Topology& topology = cluster.network.topology;
  const bool ring = topology.kind == TopologyKind::kRing;
  const auto above = leaf ? take_number(name, ring ? "-leaf" : "-spine") : std::nullopt;
  if (!above || !name.empty() || *leaf >= topology.leaves) return std::nullopt;
  if (ring ? *above != (*leaf + 1) % topology.leaves : *above >= topology.spines) {
    return std::nullopt;
  }
  ClusterPart part;
  part.rate = cluster.network.link;
  return part;
}

std::optional<PcieLink> device_link(const Node& node, std::string_view device) {
  std::optional<PcieLink> link = device.starts_with("gpu") ? node.gpu.pcie : node.nic.pcie;
  for (const PcieBranch& branch : node.pcie) {
    const bool holds =
        std::find(branch.devices.begin(), branch.devices.end(), device) != branch.devices.end();
    if (!holds || !link || !branch.link || !branch.switch_name.empty()) continue;
    if (pcie_rate(*branch.link, 0) < pcie_rate(*link, 0)) link = branch.link;
  }
  return link;
}

std::optional<PcieLink> switch_uplink(const Node& node, std::string_view name) {
  for (const PcieBranch& branch : node.pcie) {
    if (!name.empty() && branch.switch_name == name) return branch.link;
  }
  return std::nullopt;
}

}  // namespace gradhaul

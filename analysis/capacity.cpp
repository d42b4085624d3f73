#include "analysis/capacity.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "analysis/quantity_text.h"
#include "core/infiniband_framing.h"
#include "core/pcie_framing.h"

namespace gradhaul {
namespace {

double bytes_per_second(BitRate rate) { return static_cast<double>(rate.bits_per_second) / 8; }

std::string each_way(BitRate rate) {
  if (rate.unlimited() || rate.bits_per_second == 0) return "";
  return fmt::format("It can carry {} each way.", rate_text(bytes_per_second(rate)));
}

// Of packets with so much payload and overhead.
std::string framed(BitRate rate, Bytes payload, Bytes overhead, std::string_view packets) {
  if (rate.unlimited()) return "";
  const double share =
      static_cast<double>(payload.count) / static_cast<double>((payload + overhead).count);
  return fmt::format(
      "It can carry {} each way; the headers of {} of {} bytes leave {} of that for data.",
      rate_text(bytes_per_second(rate)), packets, payload.count,
      rate_text(bytes_per_second(rate) * share));
}

std::string wire(BitRate rate, const Network& network) {
  if (network.kind == NetworkKind::kIdeal) return each_way(rate);
  return framed(rate, network.mtu, kInfinibandOverhead, "packets");
}

// "gpu3" of "node0.gpu3.pcie"
std::string_view second_part(std::string_view name) {
  name.remove_prefix(std::min(name.find('.'), name.size() - 1) + 1);
  return name.substr(0, name.find('.'));
}

// As the fabric builds it: a socket's branch caps the links of its devices.
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

std::optional<PcieLink> uplink(const Node& node, std::string_view name) {
  for (const PcieBranch& branch : node.pcie) {
    if (branch.switch_name == name) return branch.link;
  }
  return std::nullopt;
}

std::string pcie(std::optional<PcieLink> link, const PcieSettings& settings) {
  if (!link) return "";
  return framed(pcie_rate(*link, settings.dllp_overhead), settings.max_payload, kPostedOverhead,
                "PCIe packets");
}

std::string root_complex(const RootComplex& root) {
  if (root.peer_to_peer_read.unlimited() || root.peer_to_peer_write.unlimited()) return "";
  return fmt::format(
      "Between two devices it can pass on {} of what is read and {} of what is "
      "written.",
      rate_text(bytes_per_second(root.peer_to_peer_read)),
      rate_text(bytes_per_second(root.peer_to_peer_write)));
}

std::string reduce_kernels(BitRate each, int channels) {
  if (each.unlimited()) return "";
  return fmt::format("Each channel's kernel reduces {}, {} channels together {}.",
                     rate_text(bytes_per_second(each)), channels,
                     rate_text(bytes_per_second(each) * channels));
}

std::string nvlink(const std::optional<Nvlink>& link) {
  if (!link || link->bandwidth.unlimited()) return "";
  return fmt::format("It can carry {} each way, of which kernels get {}.",
                     rate_text(bytes_per_second(link->bandwidth)),
                     rate_text(bytes_per_second(link->bandwidth) * link->efficiency));
}

std::string memory(BitRate rate) {
  if (rate.unlimited()) return "";
  return fmt::format("It can move {}, reads and writes together.",
                     rate_text(bytes_per_second(rate)));
}

}  // namespace

std::string capacity_sentence(const ResourceUse& use, const Cluster& cluster, int channels) {
  const Node& node = cluster.node;
  const std::string_view part = second_part(use.name);
  if (use.kind == "nic")
    return wire(std::min(cluster.network.link, node.nic.rate), cluster.network);
  if (use.kind == "network") return wire(cluster.network.link, cluster.network);
  if (use.kind == "pcie") return pcie(device_link(node, part), node.pcie_settings);
  if (use.kind == "pcie_uplink") return pcie(uplink(node, part), node.pcie_settings);
  if (use.kind == "socket") return root_complex(node.root_complex);
  if (use.kind == "socket_link") {
    const BitRate across = node.root_complex.peer_to_peer_across_sockets;
    return each_way(std::min(node.socket_link.bandwidth, across));
  }
  if (use.kind == "nvlink") return nvlink(node.nvlink);
  if (use.kind == "reduce") return reduce_kernels(node.gpu.reduce_bandwidth, channels);
  if (use.kind == "memory") return memory(node.gpu.memory_bandwidth);
  return "";
}

}  // namespace gradhaul

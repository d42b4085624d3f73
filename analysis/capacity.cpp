#include "analysis/capacity.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "analysis/quantity_text.h"
#include "core/cluster_parts.h"
#include "core/faults.h"
#include "core/network_framing.h"
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
  return fmt::format(
      "It can carry {} each way; the headers of {} of {} bytes leave {} of that for data.",
      rate_text(bytes_per_second(rate)), packets, payload.count,
      rate_text(bytes_per_second(rate) * payload_share(payload, overhead)));
}

std::string wire(BitRate rate, const Network& network) {
  if (network.kind == NetworkKind::kIdeal) return each_way(rate);
  return framed(rate, network.mtu, packet_overhead(network), "packets");
}

// "gpu3" of "node0.gpu3.pcie"
std::string_view second_part(std::string_view name) {
  name.remove_prefix(std::min(name.find('.'), name.size() - 1) + 1);
  return name.substr(0, name.find('.'));
}

std::string pcie(std::optional<PcieLink> nominal, const std::string& name, const Cluster& cluster) {
  if (!nominal) return "";
  const PcieSettings& settings = cluster.node.pcie_settings;
  const PcieLink link = trained_link(cluster.faults, name, *nominal);
  return framed(pcie_rate(link, settings.dllp_overhead), settings.max_payload, kPostedOverhead,
                "PCIe packets");
}

// Why an uplink carries what stays below its switch.
std::string detour(const PcieSettings& settings) {
  if (!settings.acs) return "";
  return " With ACS on the switch passes nothing on itself: what two devices below it send each "
         "other goes up to the root complex here, and down again.";
}

std::string reads_of_host_memory(PcieLink uplink, const std::string& name, const Node& node,
                                 const Faults& faults) {
  const HostReads reads = host_reads_through(node, trained_link(faults, name, uplink));
  return fmt::format(" Of reads of host memory, answered in pieces of {} bytes, it can carry {}{}.",
                     reads.piece.count, rate_text(std::min(reads.by_credits, reads.by_link)),
                     reads.by_credits < reads.by_link ? ", for want of PCIe credits" : "");
}

std::string root_complex(const RootComplex& root) {
  if (root.peer_to_peer_read.unlimited() || root.peer_to_peer_write.unlimited()) return "";
  return fmt::format(
      "Between two devices it can pass on {} of what is read and {} of what is "
      "written.",
      rate_text(bytes_per_second(root.peer_to_peer_read)),
      rate_text(bytes_per_second(root.peer_to_peer_write)));
}

std::string page_walks(const ResourceUse& use, const PcieSettings& settings) {
  const Bytes page = settings.iotlb_page;
  const double walks = settings.page_walks / std::max(settings.iotlb_miss.seconds(), 1e-12);
  return fmt::format(
      "These are {} pages of {}, each of which is looked up; {} at a time in {} are {} a root "
      "port.",
      (use.bytes.count + page.count - 1) / page.count, bytes_text(page), settings.page_walks,
      duration_text(settings.iotlb_miss), rate_text(walks * static_cast<double>(page.count)));
}

std::string reduce_kernels(BitRate each, int channels) {
  if (each.unlimited()) return "";
  const double rate = bytes_per_second(each);
  if (channels == 1) return fmt::format("Its one channel's kernel reduces {}.", rate_text(rate));
  return fmt::format("Each channel's kernel reduces {}, {} channels together {}.", rate_text(rate),
                     channels, rate_text(rate * channels));
}

std::string nvlink(const std::string& name, const Cluster& cluster) {
  const std::optional<Nvlink>& link = cluster.node.nvlink;
  if (!link || link->bandwidth.unlimited()) return "";
  const double rate = bytes_per_second(trained_rate(cluster.faults, name, link->bandwidth));
  return fmt::format("It can carry {} each way, of which kernels get {}.", rate_text(rate),
                     rate_text(rate * link->efficiency));
}

std::string cores(const Network& network) {
  const TcpSettings& tcp = *network.tcp;
  const Bytes bytes = tcp_aggregate(network.mtu);
  const auto rate = [&](bool receiving) {
    const Duration time = tcp_work(tcp, network.mtu, bytes, receiving);
    return static_cast<double>(bytes.count) / std::max(time.seconds(), 1e-12);
  };
  return fmt::format("A core of it can send {} or receive {}, and {} of them {} shared by both.",
                     rate_text(rate(false)), rate_text(rate(true)), tcp.cores,
                     tcp.cores == 1 ? "is" : "are");
}

std::string memory(BitRate rate) {
  if (rate.unlimited()) return "";
  return fmt::format("It can move {}, reads and writes together.",
                     rate_text(bytes_per_second(rate)));
}

}  // namespace

HostReads host_reads_through(const Node& node, PcieLink uplink) {
  const PcieSettings& settings = node.pcie_settings;
  HostReads reads;
  reads.piece = std::min(settings.max_payload, node.root_complex.read_completion);
  const auto piece = static_cast<double>(reads.piece.count);
  const auto window = static_cast<double>(
      credit_window(settings.posted_header_credits, settings.posted_data_credits, reads.piece));
  const Duration loop =
      std::max(settings.credit_loop, kPcieSwitchLatency + kPcieLinkLatency + kPcieLinkLatency);
  reads.by_credits = window * piece / loop.seconds();
  reads.by_link = bytes_per_second(pcie_rate(uplink, settings.dllp_overhead)) * piece /
                  (piece + static_cast<double>(kCompletionOverhead.count));
  return reads;
}

std::string capacity_sentence(const ResourceUse& use, const Cluster& cluster, int channels,
                              bool stages) {
  const Node& node = cluster.node;
  const std::string_view part = second_part(use.name);
  if (use.kind == "nic" || use.kind == "network") {
    const BitRate port = use.kind == "nic" ? node.nic.rate : kUnlimited;
    const BitRate rate = std::min(cluster.network.link, port);
    return wire(trained_rate(cluster.faults, use.name, rate), cluster.network);
  }
  if (use.kind == "pcie") return pcie(device_link(node, part), use.name, cluster);
  if (use.kind == "pcie_uplink") {
    const std::optional<PcieLink> uplink = switch_uplink(node, part);
    if (!uplink) return "";
    const std::string all = pcie(uplink, use.name, cluster) + detour(node.pcie_settings);
    if (!stages) return all;
    return all + reads_of_host_memory(*uplink, use.name, node, cluster.faults);
  }
  if (use.kind == "socket") return root_complex(node.root_complex);
  if (use.kind == "iommu") return page_walks(use, node.pcie_settings);
  if (use.kind == "ordered_writes") {
    return fmt::format("It passes on {}.",
                       rate_text(bytes_per_second(node.pcie_settings.ordered_writes)));
  }
  if (use.kind == "socket_link") {
    const BitRate across = node.root_complex.peer_to_peer_across_sockets;
    return each_way(std::min(node.socket_link.bandwidth, across));
  }
  if (use.kind == "nvlink") return nvlink(use.name, cluster);
  if (use.kind == "reduce") return reduce_kernels(node.gpu.reduce_bandwidth, channels);
  if (use.kind == "memory") return memory(node.gpu.memory_bandwidth);
  if (use.kind == "thread" && cluster.network.tcp) return cores(cluster.network);
  return "";
}

}  // namespace gradhaul

#include "analysis/busbw_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "core/assert.h"
#include "core/busbw.h"
#include "core/nic_rate.h"

namespace gradhaul {
namespace {

constexpr double kNoBound = std::numeric_limits<double>::infinity();

double bytes_per_second(BitRate rate) {
  return rate.unlimited() ? kNoBound : static_cast<double>(rate.bits_per_second) / 8;
}

// Line coding of PCIe Base Spec: 8b/10b to 2.0, 128b/130b from 3.0, 236 of 256 B from 6.0; rounded
// up where this is a bound.
double pcie_bytes_per_second(const PcieLink& link) {
  double transfers = 2.5e9;
  for (int generation = 1; generation < link.generation; ++generation) {
    transfers *= generation == 2 ? 1.6 : 2.0;  // 2.5, 5, 8, 16, 32, 64 GT/s
  }
  return transfers / 8 * link.lanes;
}

// What a GPU can send to others of its node.
double within_node(const Node& node) {
  if (node.nvlink) return bytes_per_second(node.nvlink->bandwidth) * node.nvlink->efficiency;
  return node.gpu.pcie ? pcie_bytes_per_second(*node.gpu.pcie) : kNoBound;
}

// What a node can send to others.
double out_of_node(const Cluster& cluster) {
  return bytes_per_second(nic_rate(cluster)) * cluster.node.nic_count;
}

}  // namespace

double busbw_bound(const Cluster& cluster, Collective collective) {
  const double per_node = cluster.ranks_per_node;
  const double ranks = cluster.ranks();
  const double gpu = within_node(cluster.node);
  if (cluster.nodes == 1) return gpu;
  const double node = out_of_node(cluster);
  switch (collective) {
    case Collective::kAllToAll:
      // Each of a node's ranks sends (ranks - per_node) of its `ranks` parts out of the node.
      return node * (ranks - 1) / (per_node * (ranks - per_node));
    case Collective::kSendRecv:
      // The last rank of a node sends out, the others within.
      return per_node > 1 ? std::min(node, gpu) : node;
    default:
      // A ring leaves each node at least once with all it carries; in between, (g-1)/g of what a
      // GPU sends stays within the node.
      return per_node > 1 ? std::min(node, gpu * per_node / (per_node - 1)) : node;
  }
}

void enforce_busbw_bound(const ResultRow& row, double bound, std::vector<std::string>& notes) {
  const double value = busbw(row.collective, row.ranks, row.size, row.time);
  if (value <= bound * (1 + 1e-9)) return;
  const std::string numbers =
      fmt::format("{:.2f} GB/s, where links carry {:.2f} GB/s", value / 1e9, bound / 1e9);
  const bool ring_like = row.algorithm == "ring" || row.algorithm == "pairwise";
  GRADHAUL_ASSERT(!ring_like, fmt::format("no busbw is above what links carry: {}", numbers));
  const std::string about = fmt::format("busbw of {} ", row.algorithm);
  const auto said = [&](const std::string& note) { return note.rfind(about, 0) == 0; };
  if (std::any_of(notes.begin(), notes.end(), said)) return;
  notes.push_back(fmt::format(
      "{}is above what links carry ({}) by its definition only, which supposes that data crosses "
      "nodes as in a ring. Compare times.",
      about, numbers));
}

}  // namespace gradhaul

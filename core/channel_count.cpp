#include "core/channel_count.h"

#include <algorithm>
#include <cmath>

#include "core/assert.h"
#include "core/network_framing.h"
#include "core/nic_rate.h"
#include "core/pcie_framing.h"

namespace gradhaul {

namespace {

// Reduce kernels share the GPU with nothing else here, but stall on arrivals and credits; by how
// much more they should be able to do is the interface's choice: 1.3.
constexpr std::int64_t kMarginTenths = 13;

BitRate scaled(BitRate rate, double factor) {
  if (rate.unlimited()) return rate;
  return {std::llround(static_cast<double>(rate.bits_per_second) * factor)};
}

BitRate nics_payload(const Cluster& cluster) {
  return scaled(nic_rate(cluster),
                cluster.node.nic_count *
                    payload_share(cluster.network.mtu, packet_overhead(cluster.network)));
}

BitRate pcie_payload(const Node& node) {
  if (!node.gpu.pcie || node.pcie.empty()) return kUnlimited;
  const PcieSettings& settings = node.pcie_settings;
  return scaled(pcie_rate(*node.gpu.pcie, settings.dllp_overhead),
                payload_share(settings.max_payload, kPostedOverhead));
}

}  // namespace

BitRate carried_payload(const Cluster& cluster) {
  if (cluster.nodes > 1) return nics_payload(cluster);
  if (cluster.node.nvlink)
    return scaled(cluster.node.nvlink->bandwidth, cluster.node.nvlink->efficiency);
  return pcie_payload(cluster.node);
}

int automatic_channels(const Cluster& cluster) {
  const int multiple = std::max(cluster.node.nic_count, 1);
  const BitRate carried = carried_payload(cluster);
  const BitRate reduced = cluster.node.gpu.reduce_bandwidth;
  if (carried.unlimited() || reduced.unlimited()) return multiple;
  GRADHAUL_ASSERT(reduced.bits_per_second > 0, "reduce kernels have a rate");
  const Int128 needed = static_cast<Int128>(carried.bits_per_second) * kMarginTenths;
  const Int128 round = static_cast<Int128>(reduced.bits_per_second) * 10 * multiple;
  // No GPU has more thread blocks than this; it keeps absurd rates from overflowing.
  constexpr Int128 kMostRounds = 4096;
  const Int128 rounds = std::clamp<Int128>((needed + round - 1) / round, 1, kMostRounds);
  return multiple * static_cast<int>(rounds);
}

}  // namespace gradhaul

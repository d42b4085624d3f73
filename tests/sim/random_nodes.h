#pragma once

// Nodes drawn at random: nested switches, devices straight at sockets, links of any speed.

#include <optional>
#include <string>

#include "core/cluster.h"
#include "tests/sim/cluster_examples.h"
#include "tests/sim/draws.h"

namespace gradhaul::examples {

using namespace gradhaul::literals;  // NOLINT(google-build-using-namespace)

inline Node random_node(Draws& draws) {
  Node node;
  node.sockets = static_cast<int>(draws.between(1, 2));
  node.gpu_count = static_cast<int>(draws.between(1, 6));
  node.nic_count = static_cast<int>(draws.between(1, 4));
  node.gpu.pcie = PcieLink{5, 16};
  node.nic.pcie = PcieLink{4, 16};
  node.socket_link = {90_GBps, 100_ns};
  node.root_complex.peer_to_peer_read = 20_GBps;
  node.root_complex.peer_to_peer_write = 21_GBps;
  node.root_complex.peer_to_peer_across_sockets = 15_GBps;
  const auto socket = [&] { return "socket" + std::to_string(draws.below(node.sockets)); };
  const std::int64_t switches = draws.below(5);
  for (std::int64_t i = 0; i < switches; ++i) {
    const bool nested = i > 0 && draws.below(2) == 0;
    const std::string parent = nested ? "sw" + std::to_string(draws.below(i)) : socket();
    node.pcie.push_back({"sw" + std::to_string(i), parent, PcieLink{5, 16}, {}});
  }
  for (int s = 0; s < node.sockets; ++s) {
    node.pcie.push_back({"", "socket" + std::to_string(s), std::nullopt, {}});
  }
  const auto hang = [&](const std::string& device) {
    const auto branch = draws.below(static_cast<std::int64_t>(node.pcie.size()));
    node.pcie[static_cast<std::size_t>(branch)].devices.push_back(device);
  };
  for (int g = 0; g < node.gpu_count; ++g) hang("gpu" + std::to_string(g));
  for (int n = 0; n < node.nic_count; ++n) hang("nic" + std::to_string(n));
  return node;
}

// Every limit and link another one.
inline void draw_rates(Node& node, Draws& draws) {
  const auto rate = [&] {
    constexpr std::int64_t kGigabytes[] = {10, 14, 18, 20, 25, 40, 100};
    return BitRate{kGigabytes[draws.below(7)] * 8'000'000'000};
  };
  node.socket_link = {rate(), {100'000}};
  node.root_complex.peer_to_peer_read = rate();
  node.root_complex.peer_to_peer_write = rate();
  node.root_complex.peer_to_peer_across_sockets = rate();
  const auto generation = [&] { return static_cast<int>(draws.between(3, 5)); };
  for (PcieBranch& branch : node.pcie) {
    if (branch.link) branch.link = PcieLink{generation(), draws.below(2) == 0 ? 8 : 16};
  }
  node.gpu.pcie = PcieLink{generation(), 16};
  node.nic.pcie = PcieLink{generation(), 16};
  if (draws.below(3) == 0) node.root_complex.tlp_split = Bytes{64};
  if (draws.below(2) == 0) node.nvlink = Nvlink{{300 * 8'000'000'000}, 0.8, {700'000}};
}

// RoCE whose ports pause early and often.
inline void make_roce(Cluster& cluster, Draws& draws) {
  Network& network = cluster.network;
  network.kind = NetworkKind::kRoce;
  network.switch_buffer = {draws.between(8, 32) * 1'000'000};
  PauseSettings& pause = network.pause;
  pause.xoff = {draws.between(6'000, 60'000)};
  pause.xon = {draws.between(0, pause.xoff.count)};
  pause.response = {draws.below(2'000'000)};
  if (draws.below(3) == 0) pause.alpha = 0.01 * static_cast<double>(draws.between(1, 4));
  network.routing = draws.below(2) == 0 ? Routing::kEcmp : Routing::kStatic;
}

}  // namespace gradhaul::examples

#include "scenarios/network_reader.h"

#include <fmt/format.h>

#include <array>

#include "core/infiniband_framing.h"
#include "scenarios/device_reader.h"

namespace gradhaul {
namespace {

using namespace literals;

constexpr std::int64_t kLongestLatency = 1'000'000'000;  // 1 ms
// The MTUs there are (IBTA vol. 1, PathRecord MTU).
constexpr std::array<std::int64_t, 5> kMtus{256, 512, 1024, 2048, 4096};
// FCCL and FCTBS let no more be advertised (IBTA vol. 1, 7.9.4).
constexpr std::int64_t kMostVlBuffer = kMaxCreditBlocks * kCreditBlockBytes;

std::int64_t mtu_within(std::int64_t port_mtu) {
  std::int64_t best = kMtus.front();
  for (const std::int64_t mtu : kMtus) {
    if (mtu <= port_mtu) best = mtu;
  }
  return best;
}

bool is_mtu(std::int64_t mtu) {
  for (const std::int64_t known : kMtus) {
    if (mtu == known) return true;
  }
  return false;
}

// Packet sizes are named in bytes, 4096B, not 4KiB.
std::string octets(std::int64_t bytes) { return fmt::format("{}B", bytes); }

Bytes read_mtu(MappingReader& reader) {
  const Bytes port = reader.bytes(
      "port_mtu",
      {.otherwise = {"auto"}, .least = 256, .most = 65536, .words = {{"auto", kMtus.back()}}});
  const Bytes mtu = reader.bytes("mtu", {.otherwise = {"auto"},
                                         .least = 1,
                                         .most = 1 << 20,
                                         .words = {{"auto", mtu_within(port.count)}}});
  if (mtu > port) {
    reader.report(
        "mtu", fmt::format("mtu: {} is over the MTU of the port, {}; at most {} fits",
                           octets(mtu.count), octets(port.count), octets(mtu_within(port.count))));
  } else if (!is_mtu(mtu.count)) {
    reader.report("mtu",
                  fmt::format("mtu: {} is no RDMA path MTU; it is 256B, 512B, 1024B, 2048B or "
                              "4096B, or \"auto\"",
                              octets(mtu.count)));
  }
  return is_mtu(mtu.count) ? mtu : Bytes{kMtus.back()};
}

int read_size_of_topology(MappingReader& reader, std::string_view key) {
  return static_cast<int>(reader.count(
      key, {.otherwise = {"auto"}, .least = 1, .most = 1 << 20, .words = {{"auto", 0}}}));
}

Topology read_topology(MappingReader reader) {
  Topology topology;
  topology.kind = static_cast<TopologyKind>(reader.choice(
      "kind", {.otherwise = {"single_switch"},
               .available = {"back_to_back", "single_switch", "leaf_spine", "rail_optimized"},
               .unavailable = {"fat_tree", "two_site", "torus", "dragonfly"}}));
  const bool wide =
      topology.kind == TopologyKind::kLeafSpine || topology.kind == TopologyKind::kRailOptimized;
  // A leaf has to have a width; 64 is that of a QM9700 (vendor page). One switch is as wide as it
  // needs to be.
  topology.switch_ports =
      static_cast<int>(reader.count("switch_ports", {.otherwise = {wide ? "64" : "auto"},
                                                     .least = 2,
                                                     .most = 65536,
                                                     .words = {{"auto", wide ? 64 : 0}}}));
  topology.leaves = read_size_of_topology(reader, "leaves");
  topology.spines = read_size_of_topology(reader, "spines");
  topology.uplinks_per_leaf = read_size_of_topology(reader, "uplinks");
  reader.count("tiers", {.otherwise = {"auto"}, .least = 1, .most = 3, .words = {{"auto", 0}}});
  reader.finish();
  return topology;
}

void read_switch(MappingReader reader, Network& network, bool infiniband) {
  network.switch_latency =
      reader.time("latency", {.otherwise = {"200ns", true}, .least = 0, .most = kLongestLatency});
  network.vl_buffer =
      reader.bytes("vl_buffer", {.otherwise = {infiniband ? "64KiB" : "unlimited", infiniband},
                                 .least = 1,
                                 .most = kMostVlBuffer,
                                 .words = {{"unlimited", 0}}});
  if (reader.has("buffer")) {
    reader.report("buffer",
                  "buffer: the shared buffer of an Ethernet switch is not available in this "
                  "version; an InfiniBand switch has vl_buffer, per port and lane");
  }
  reader.raw("buffer");
  const std::int64_t packet = packet_buffer(network.mtu).count;
  if (infiniband && network.vl_buffer.count > 0 && network.vl_buffer.count < packet) {
    reader.report(
        "vl_buffer",
        fmt::format("vl_buffer: {} never holds one packet of mtu {} with its "
                    "headers; at least {} does",
                    octets(network.vl_buffer.count), octets(network.mtu.count), octets(packet)));
  }
  reader.finish();
}

void read_protocols(MappingReader& reader, Network& network, bool infiniband) {
  const std::vector<std::string_view> ethernet{"pfc", infiniband ? "none" : "credits"};
  const auto mapping_given = [&reader](std::string_view key) {
    const TreeNode* node = reader.node() == nullptr ? nullptr : reader.node()->find(key);
    return node != nullptr && node->kind == TreeNode::Kind::kMapping;
  };
  for (const std::string_view key : {"flow_control", "congestion_control"}) {
    if (mapping_given(key)) {
      reader.report(key,
                    fmt::format("{}: settings of its own are not available in this version, "
                                "which has {}",
                                key, key == "flow_control" && infiniband ? "credits" : "none"));
      reader.raw(key);
    } else if (key == "flow_control") {
      reader.fixed(key, infiniband ? "credits" : "none", ethernet);
    } else {
      reader.fixed(key, "none", {"dcqcn", "hpcc", "timely", "swift"});
    }
  }
  network.credit_return =
      reader.time("credit_return", {.otherwise = {infiniband ? "300ns" : "0ns", infiniband},
                                    .least = 0,
                                    .most = kLongestLatency});
  reader.fixed("routing", "static", {"adaptive", "ecmp", "spray"});
}

}  // namespace

Network read_network(MappingReader& reader) {
  Network network;
  network.name = read_name(reader);
  network.kind =
      static_cast<NetworkKind>(reader.choice("kind", {.otherwise = {"infiniband"},
                                                      .available = {"infiniband", "ideal"},
                                                      .unavailable = {"roce", "ethernet"}}));
  const bool infiniband = network.kind == NetworkKind::kInfiniband;
  network.link = reader.rate("link", {.least = 1'000'000, .most = (100'000_Gbps).bits_per_second});
  network.mtu = read_mtu(reader);
  MappingReader cables = reader.mapping("cables");
  constexpr std::int64_t kLongestCable = 100'000'000;  // 100 km, in millimetres
  network.node_cable_metres =
      cables.metres("node", {.otherwise = {"3m"}, .least = 0, .most = kLongestCable});
  network.spine_cable_metres =
      cables.metres("spine", {.otherwise = {"30m"}, .least = 0, .most = kLongestCable});
  cables.finish();
  network.topology = read_topology(reader.mapping("topology"));
  network.oversubscription = reader.real(
      "oversubscription", {.otherwise = {"1"}, .least = 0, .most = 1000, .above_least = true});
  read_switch(reader.mapping("switch"), network, infiniband);
  read_protocols(reader, network, infiniband);
  reader.finish();
  return network;
}

}  // namespace gradhaul

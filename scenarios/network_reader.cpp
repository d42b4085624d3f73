#include "scenarios/network_reader.h"

#include <fmt/format.h>

#include <array>

#include "core/network_framing.h"
#include "scenarios/device_reader.h"
#include "scenarios/flow_control_reader.h"

namespace gradhaul {
namespace {

using namespace literals;

constexpr std::int64_t kLongestLatency = 1'000'000'000;  // 1 ms
// The MTUs there are (IBTA vol. 1, PathRecord MTU).
constexpr std::array<std::int64_t, 5> kMtus{256, 512, 1024, 2048, 4096};

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

// Of RoCE the headers have to fit into the port's MTU too.
Bytes read_mtu(MappingReader& reader, NetworkKind kind) {
  const bool roce = kind == NetworkKind::kRoce;
  const Bytes margin = roce ? kRoceMtuMargin : Bytes{};
  const Bytes port = reader.bytes("port_mtu", {.otherwise = {roce ? "9000B" : "auto"},
                                               .least = roce ? 256 + margin.count : 256,
                                               .most = 65536,
                                               .words = {{"auto", roce ? 9000 : kMtus.back()}}});
  const std::int64_t most = mtu_within((port - margin).count);
  const Bytes mtu = reader.bytes(
      "mtu", {.otherwise = {"auto"}, .least = 1, .most = 1 << 20, .words = {{"auto", most}}});
  if (mtu + margin > port) {
    reader.report("mtu", fmt::format("mtu: {}{} is over the MTU of the port, {}; at most {} fits",
                                     octets(mtu.count), roce ? " and its headers" : "",
                                     octets(port.count), octets(most)));
  } else if (!is_mtu(mtu.count)) {
    reader.report("mtu",
                  fmt::format("mtu: {} is no RDMA path MTU; it is 256B, 512B, 1024B, 2048B or "
                              "4096B, or \"auto\"",
                              octets(mtu.count)));
  }
  return is_mtu(mtu.count) ? mtu : Bytes{kMtus.back()};
}

// Of Ethernet that carries TCP there is no other.
Bytes read_port_mtu(MappingReader& reader) {
  if (reader.has("mtu")) {
    reader.report("mtu",
                  "mtu: that of RDMA, which a network of kind ethernet does not carry; port_mtu "
                  "alone counts");
  }
  reader.raw("mtu");
  return reader.bytes("port_mtu", {.otherwise = {"9000B"}, .least = 576, .most = 65535});
}

// What packets have beside the headers of every packet of the kind.
void read_headers(MappingReader& reader, Network& network) {
  const bool ethernet =
      network.kind == NetworkKind::kRoce || network.kind == NetworkKind::kEthernet;
  network.vlan = reader.truth("vlan", {"false"});
  network.ipv6 = reader.choice("ip", {.otherwise = {"v4"}, .available = {"v4", "v6"}}) == 1;
  network.grh = reader.truth("grh", {"false"});
  if (network.vlan && !ethernet) {
    reader.report("vlan", "vlan: tags are those of Ethernet: kind: roce or ethernet");
  }
  if (network.ipv6 && network.kind != NetworkKind::kRoce) {
    reader.report("ip", "ip: v6 is available over RoCE (kind: roce), and not over this network");
  }
  if (network.grh && network.kind != NetworkKind::kInfiniband) {
    reader.report("grh",
                  "grh: a global route header is InfiniBand's (kind: infiniband); what RoCE has in "
                  "its place, ip: v4 or v6, it always has");
  }
}

int read_size_of_topology(MappingReader& reader, std::string_view key) {
  return static_cast<int>(reader.count(
      key, {.otherwise = {"auto"}, .least = 1, .most = 1 << 20, .words = {{"auto", 0}}}));
}

void read_way(MappingReader& reader, Topology& topology) {
  if (topology.kind == TopologyKind::kRing) {
    topology.way = static_cast<RingWay>(reader.choice(
        "way", {.otherwise = {"shortest"}, .available = {"shortest", "clockwise", "up_down"}}));
    return;
  }
  if (reader.has("way")) reader.report("way", "way: only a ring has two; leave it out");
  reader.raw("way");
}

Topology read_topology(MappingReader reader) {
  Topology topology;
  topology.kind = static_cast<TopologyKind>(reader.choice(
      "kind",
      {.otherwise = {"single_switch"},
       .available = {"back_to_back", "single_switch", "leaf_spine", "rail_optimized", "ring"},
       .unavailable = {"fat_tree", "two_site", "torus", "dragonfly"}}));
  const bool wide =
      topology.kind != TopologyKind::kBackToBack && topology.kind != TopologyKind::kSingleSwitch;
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
  read_way(reader, topology);
  reader.count("tiers", {.otherwise = {"auto"}, .least = 1, .most = 3, .words = {{"auto", 0}}});
  reader.finish();
  return topology;
}

void read_switch(MappingReader reader, Network& network) {
  const bool ethernet =
      network.kind == NetworkKind::kRoce || network.kind == NetworkKind::kEthernet;
  network.switch_latency = reader.time(
      "latency", {.otherwise = {ethernet ? "400ns" : "200ns", true, "",
                                ethernet ? "300ns" : "150ns", ethernet ? "800ns" : "330ns"},
                  .least = 0,
                  .most = kLongestLatency});
  read_switch_buffers(reader, network);
  reader.finish();
}

}  // namespace

Network read_network(MappingReader& reader) {
  Network network;
  network.name = read_name(reader);
  network.kind = static_cast<NetworkKind>(reader.choice(
      "kind",
      {.otherwise = {"infiniband"}, .available = {"infiniband", "ideal", "roce", "ethernet"}}));
  network.link = reader.rate("link", {.least = 1'000'000, .most = (100'000_Gbps).bits_per_second});
  network.mtu = network.kind == NetworkKind::kEthernet ? read_port_mtu(reader)
                                                       : read_mtu(reader, network.kind);
  read_headers(reader, network);
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
  read_switch(reader.mapping("switch"), network);
  read_flow_control(reader, network);
  reader.finish();
  return network;
}

}  // namespace gradhaul

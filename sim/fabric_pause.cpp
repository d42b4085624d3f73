// Where a RoCE network pauses: each cable's marks and headroom, and the pools that the ports of a
// switch share.

#include <algorithm>
#include <map>
#include <utility>

#include "core/network_framing.h"
#include "core/pause_headroom.h"
#include "sim/fabric.h"

namespace gradhaul {
namespace {

bool ends_with(const std::string& name, const std::string& end) {
  return name.size() >= end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
}

std::string with_end(const std::string& name, const std::string& end, const std::string& other) {
  return name.substr(0, name.size() - end.size()) + other;
}

// "node0.nic1" of its bonded port "node0.nic1.port0".
std::string nic_of_port(const std::string& name) { return name.substr(0, name.find(".port")); }

}  // namespace

PauseRules Fabric::pause_rules(const Link& link, double metres, bool into_nic) const {
  const Network& network = cluster_.network;
  const PauseSettings& settings = network.pause;
  PauseRules rules;
  rules.cable = cable_latency(metres);
  rules.response = settings.response;
  rules.headroom = settings.headroom.value_or(
      pause_headroom(link.rate, largest_packet(network), rules.cable, rules.response));
  rules.xoff = settings.xoff;
  rules.xon = settings.xon;
  const Bytes own = cluster_.node.nic.receive_buffer;
  if (into_nic && own.count > 0) {
    rules.xoff = own - rules.headroom;
    rules.xon = {
        std::max(rules.xoff.count - (settings.xoff - settings.xon).count, rules.xoff.count / 2)};
  }
  if (!into_nic) rules.alpha = settings.alpha;
  rules.spills = rules.headroom <
                 pause_headroom(link.rate, largest_packet(network), rules.cable, rules.response);
  return rules;
}

// A link is lossless where both ends take part: its receiver pauses, its transmitter heeds it.
void Fabric::set_buffer_rules(Link& link, double metres, const std::string& into_nic) const {
  const Network& network = cluster_.network;
  const std::string from_nic =
      ends_with(link.name, ".out") ? nic_of_port(with_end(link.name, ".out", "")) : std::string();
  const bool into_switch = into_nic.empty();
  const bool pauses = !network.drops() && (into_switch || !has_pfc_off(cluster_.faults, into_nic));
  if (pauses) {
    link.pause = pause_rules(link, metres, !into_switch);
    link.pause.heeded = from_nic.empty() || !has_pfc_off(cluster_.faults, from_nic);
    link.pause.spills = link.pause.spills || !link.pause.heeded;
    for (const PauseStorm& storm : cluster_.faults.storms) {
      if (storm.nic == into_nic) link.storms.push_back({storm.at, storm.at + storm.lasts});
    }
  } else if (!into_switch) {
    const Bytes own = cluster_.node.nic.receive_buffer;
    // A port's share of a switch's buffer, as where it is lossless.
    link.drop.receive = own.count > 0 ? own : network.pause.port_buffer;
  }
}

LinkId Fabric::reverse_of(const Link& link) const {
  if (cluster_.network.topology.kind == TopologyKind::kBackToBack) {
    std::string back = link.name;
    char& node = back[4];  // "node0.nic3.out"
    node = node == '0' ? '1' : '0';
    return find(back);
  }
  for (const auto& [end, other] :
       {std::pair(".out", ".in"), std::pair(".in", ".out"), std::pair(".up", ".down"),
        std::pair(".down", ".up"), std::pair(".clockwise", ".back"),
        std::pair(".back", ".clockwise")}) {
    if (ends_with(link.name, end)) return find(with_end(link.name, end, other));
  }
  GRADHAUL_ASSERT(false, "wires of the network have two directions");
  return kNoLink;
}

// By which link pause frames go back; and, where ports share a buffer, which switch a link leads
// into.
void Fabric::set_pause_ways() {
  std::map<std::string, std::int32_t> pools;
  std::map<std::int32_t, Bytes> headrooms;
  for (Link& link : links_) {
    if (!link.pause.lossless()) continue;
    link.pause.reverse = reverse_of(link);
    if (link.pause.alpha <= 0) continue;
    // The port at the far end is named after the switch: "leaf0:3".
    const std::string& port = links_[static_cast<std::size_t>(link.pause.reverse)].port;
    const auto [pool, added] =
        pools.try_emplace(port.substr(0, port.find(':')), static_cast<std::int32_t>(pools.size()));
    link.pause.pool = pool->second;
    headrooms[link.pause.pool] += link.pause.headroom;
  }
  for (Link& link : links_) {
    if (link.pause.pool < 0) continue;
    link.pause.shared = cluster_.network.switch_buffer - headrooms[link.pause.pool];
    GRADHAUL_ASSERT(link.pause.shared.count > 0, "a switch has buffer beside its headroom");
  }
}

// Which switch sends on a link, and whether it marks or drops what comes to wait there. What is
// lossless keeps its headroom to itself.
void Fabric::set_drop_pools() {
  const Network& network = cluster_.network;
  std::map<std::string, std::int32_t> pools;
  std::map<std::int32_t, Bytes> headrooms;
  for (Link& link : links_) {
    const std::size_t colon = link.port.find(':');
    if (colon == std::string::npos) continue;
    link.marks = network.congestion.dcqcn;
    if (!network.drops()) continue;
    const auto [pool, added] =
        pools.try_emplace(link.port.substr(0, colon), static_cast<std::int32_t>(pools.size()));
    link.drop.pool = pool->second;
    link.drop.alpha = network.pause.alpha;
    if (!network.pause.on) continue;
    const double metres =
        ends_with(link.name, ".in") ? network.node_cable_metres : network.spine_cable_metres;
    headrooms[link.drop.pool] += pause_rules(link, metres, false).headroom;
  }
  for (Link& link : links_) {
    if (link.drop.pool < 0) continue;
    // However many ports there are, one port's share is left.
    link.drop.shared =
        std::max(network.switch_buffer - headrooms[link.drop.pool], network.pause.port_buffer);
  }
}

}  // namespace gradhaul

#include "scenarios/flow_control_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/network_framing.h"
#include "core/packet_loss.h"
#include "core/pause_headroom.h"
#include "scenarios/congestion_control_reader.h"

namespace gradhaul {
namespace {

constexpr std::int64_t kLongestLatency = 1'000'000'000;  // 1 ms
// FCCL and FCTBS let no more be advertised (IBTA vol. 1, 7.9.4).
constexpr std::int64_t kMostVlBuffer = kMaxCreditBlocks * kCreditBlockBytes;
constexpr std::int64_t kMostSwitchBuffer = std::int64_t{1} << 40;
// Ports that share a switch's buffer where it is as wide as it needs to be.
constexpr int kUsualPorts = 64;
// How far below its mark a port lets its peer go on: SONiC's default for 100 Gb/s and more.
constexpr std::int64_t kXonBelow = 9'408;
// What a queue that nothing pauses may have of the free buffer: SONiC's dynamic_th of 3 for lossy
// profiles, 2^3; other systems set less.
constexpr Default kLossyAlpha{"8", true, "SONiC's lossy buffer profiles, dynamic_th: 3", "0.125",
                              "8"};

std::string octets(std::int64_t bytes) { return fmt::format("{}B", bytes); }

std::string_view kind_name(NetworkKind kind) {
  switch (kind) {
    case NetworkKind::kInfiniband:
      return "an infiniband network";
    case NetworkKind::kRoce:
      return "a roce network";
    case NetworkKind::kEthernet:
      return "an ethernet network";
    case NetworkKind::kIdeal:
      break;
  }
  return "an ideal network";
}

// A port's share of the buffer beside its headroom.
std::int64_t even_share(const Network& network) {
  const Bytes headroom = network.pause.headroom.value_or(needed_headroom(network));
  return (network.pause.port_buffer - headroom).count;
}

// Less than is needed is a mistake that real switches are set up with: it loses packets.
void read_headroom(MappingReader& reader, Network& network) {
  const Bytes given = reader.bytes(
      "headroom",
      {.otherwise = {"auto"}, .least = 1, .most = kMostSwitchBuffer, .words = {{"auto", 0}}});
  if (given.count > 0) network.pause.headroom = given;
}

void read_marks(MappingReader& reader, Network& network) {
  PauseSettings& pause = network.pause;
  const std::int64_t share = even_share(network);
  const std::int64_t packet = largest_packet(network).count;
  pause.xoff = reader.bytes("xoff", {.otherwise = {"auto"},
                                     .least = 1,
                                     .most = kMostSwitchBuffer,
                                     .words = {{"auto", std::max<std::int64_t>(share, 0)}}});
  const std::int64_t xoff = pause.xoff.count;
  if (xoff < packet) {
    reader.report("xoff",
                  fmt::format("xoff: {} is less than one packet on the wire, {}; give the switch "
                              "more buffer, or xoff itself",
                              octets(xoff), octets(packet)));
  }
  const std::int64_t below = std::max(xoff - kXonBelow, xoff / 2);
  pause.xon = reader.bytes(
      "xon",
      {.otherwise = {"auto"}, .least = 0, .most = kMostSwitchBuffer, .words = {{"auto", below}}});
  if (pause.xon > pause.xoff) {
    reader.report("xon", fmt::format("xon: {} is above xoff, {}: a port would go on and pause at "
                                     "once",
                                     octets(pause.xon.count), octets(xoff)));
  }
}

// Where nothing is paused, the threshold of a queue is all there is to say.
void read_dropping(MappingReader& reader, Network& network) {
  PauseSettings& pause = network.pause;
  for (const char* key : {"priority", "response", "headroom", "xoff", "xon"}) {
    if (reader.has(key)) {
      reader.report(key, fmt::format("{}: with kind: none nothing is paused; leave it out, or take "
                                     "kind: pfc",
                                     key));
    }
    reader.raw(key);
  }
  pause.alpha = reader.real("alpha", {.otherwise = kLossyAlpha, .least = 0, .most = 64});
  const Bytes packet = largest_packet(network);
  if (pause.port_buffer < packet) {
    reader.report("kind",
                  fmt::format("kind: none: a port's even share of the switch's buffer, {}, never "
                              "holds one packet on the wire, {}; give the switch more buffer",
                              octets(pause.port_buffer.count), octets(packet.count)));
  }
  const double most = pause.alpha * static_cast<double>(network.switch_buffer.count);
  if (pause.alpha > 0 && most < 2 * static_cast<double>(packet.count)) {
    reader.report("alpha", fmt::format("alpha: {} of the switch's buffer of {} never holds one "
                                       "packet on the wire, {}",
                                       pause.alpha, octets(network.switch_buffer.count),
                                       octets(packet.count)));
  }
}

void read_pause(MappingReader reader, Network& network) {
  PauseSettings& pause = network.pause;
  const int ports = network.topology.switch_ports > 0 ? network.topology.switch_ports : kUsualPorts;
  pause.port_buffer = {network.switch_buffer.count / ports};
  pause.on =
      reader.choice("kind",
                    {.otherwise = {"pfc"}, .available = {"pfc", "none"}, .unavailable = {}}) == 0;
  if (!pause.on) {
    read_dropping(reader, network);
    return reader.finish();
  }
  pause.priority = static_cast<int>(reader.count(
      "priority", {.otherwise = {"3", false, "as NVIDIA's guides to RoCE set switches and NICs up"},
                   .least = 0,
                   .most = 7}));
  const std::int64_t quanta = pause_response_quanta(network.link);
  pause.response = reader.time(
      "response",
      {.otherwise = {"auto"},
       .least = 0,
       .most = kLongestLatency,
       .words = {{"auto", serialisation_time({quanta * kPauseQuantumBits / 8}, network.link).ps}}});
  read_headroom(reader, network);
  read_marks(reader, network);
  pause.alpha = reader.real("alpha", {.otherwise = {"0"}, .least = 0, .most = 64});
  if (pause.alpha > 0 && even_share(network) <= 0) {
    reader.report("alpha",
                  fmt::format("alpha: the switch's buffer of {} is all headroom, {} a port",
                              octets(network.switch_buffer.count),
                              octets(pause.headroom.value_or(needed_headroom(network)).count)));
  }
  reader.finish();
}

bool is_mapping(const MappingReader& reader, std::string_view key) {
  const TreeNode* node = reader.node() == nullptr ? nullptr : reader.node()->find(key);
  return node != nullptr && node->kind == TreeNode::Kind::kMapping;
}

void no_mapping(MappingReader& reader, std::string_view key, std::string_view only) {
  reader.report(key, fmt::format("{}: settings of its own are not available in this version, "
                                 "which has {}",
                                 key, only));
  reader.raw(key);
}

// InfiniBand has no hash of UDP ports, and its switches choose by what queues hold, not by draws.
void read_routing(MappingReader& reader, Network& network) {
  if (network.kind == NetworkKind::kRoce) {
    constexpr std::array kRoutings{Routing::kStatic, Routing::kEcmp, Routing::kAdaptive,
                                   Routing::kSpray};
    network.routing = kRoutings[reader.choice(
        "routing", {.otherwise = {"ecmp"}, .available = {"static", "ecmp", "adaptive", "spray"}})];
  } else if (network.kind == NetworkKind::kInfiniband) {
    const bool adaptive = reader.choice("routing", {.otherwise = {"static"},
                                                    .available = {"static", "adaptive"},
                                                    .unavailable = {"ecmp", "spray"}}) == 1;
    network.routing = adaptive ? Routing::kAdaptive : Routing::kStatic;
  } else {
    reader.fixed("routing", "static", {"adaptive", "ecmp", "spray"});
  }
}

}  // namespace

void read_switch_buffers(MappingReader& reader, Network& network) {
  const bool infiniband = network.kind == NetworkKind::kInfiniband;
  const bool roce = network.kind == NetworkKind::kRoce;
  const auto misplaced = [&](std::string_view key, std::string_view owner) {
    if (!reader.has(key)) return;
    reader.report(key, fmt::format("{}: {} has none; {}", key, kind_name(network.kind), owner));
  };
  if (roce) {
    network.switch_buffer = reader.bytes(
        "buffer",
        {.otherwise = {"64MB", true, "", "42MB", "160MB"}, .least = 1, .most = kMostSwitchBuffer});
    misplaced("vl_buffer", "its switches share a buffer: buffer");
    reader.raw("vl_buffer");
    return;
  }
  network.vl_buffer = reader.bytes(
      "vl_buffer", {.otherwise = {infiniband ? "64KiB" : "unlimited", infiniband, "",
                                  infiniband ? "32KiB" : "", infiniband ? "128KiB" : ""},
                    .least = 1,
                    .most = kMostVlBuffer,
                    .words = {{"unlimited", 0}}});
  misplaced("buffer", "an InfiniBand switch has vl_buffer, per port and lane");
  reader.raw("buffer");
  const std::int64_t packet = packet_buffer(network).count;
  if (infiniband && network.vl_buffer.count > 0 && network.vl_buffer.count < packet) {
    reader.report(
        "vl_buffer",
        fmt::format("vl_buffer: {} never holds one packet of mtu {} with its "
                    "headers; at least {} does",
                    octets(network.vl_buffer.count), octets(network.mtu.count), octets(packet)));
  }
}

void read_flow_control(MappingReader& reader, Network& network) {
  const bool infiniband = network.kind == NetworkKind::kInfiniband;
  const bool roce = network.kind == NetworkKind::kRoce;
  if (roce) {
    read_pause(reader.mapping_of_kind("flow_control"), network);
  } else if (is_mapping(reader, "flow_control")) {
    no_mapping(reader, "flow_control", infiniband ? "credits" : "none");
  } else {
    reader.fixed("flow_control", infiniband ? "credits" : "none",
                 {"pfc", infiniband ? "none" : "credits"});
  }
  if (roce) {
    read_congestion_control(reader, network);
  } else if (is_mapping(reader, "congestion_control")) {
    no_mapping(reader, "congestion_control", "none");
  } else {
    reader.fixed("congestion_control", "none", {"dcqcn", "hpcc", "timely", "swift"});
  }
  network.credit_return = reader.time(
      "credit_return", {.otherwise = {infiniband ? "300ns" : "0ns", infiniband, "",
                                      infiniband ? "150ns" : "", infiniband ? "600ns" : ""},
                        .least = 0,
                        .most = kLongestLatency});
  read_routing(reader, network);
}

}  // namespace gradhaul

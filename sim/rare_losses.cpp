#include "sim/rare_losses.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <set>
#include <sstream>

#include "core/network_framing.h"
#include "core/packet_loss.h"
#include "sim/finished_run.h"
#include "sim/packet_transport.h"

namespace gradhaul {
namespace {

// A run that has so many shows what they cost by itself.
constexpr double kEnough = 1;
constexpr double kPsAnHour = 3600e12;

const Route& route_of(const Wiring& wiring, FlowId flow) {
  static const Route kNone;
  return flow < 0 ? kNone : wiring.flows[static_cast<std::size_t>(flow)].route;
}

// From where it is put on the first link to its last bit at the end of the last one.
Duration idle_time(const Fabric& fabric, const Route& route, Bytes payload, Bytes extra) {
  Duration time;
  Duration slowest;
  for (const RouteHop& hop : route) {
    const Link& link = fabric.link(hop.link);
    const std::int64_t units =
        hop.unit.count == 0
            ? 1
            : std::max<std::int64_t>(1, (payload.count + hop.unit.count - 1) / hop.unit.count);
    time += link.latency;
    if (link.rate.unlimited()) continue;
    slowest =
        std::max(slowest, serialisation_time(payload + hop.overhead * units + extra, link.rate));
  }
  return time + slowest;
}

double chance_on(const Fabric& fabric, const Route& route, Bytes payload, Bytes extra) {
  double safe = 0;  // its logarithm
  for (const RouteHop& hop : route) {
    const Bytes wire = payload + hop.overhead + extra;
    safe += static_cast<double>(wire.count * 8) * std::log1p(-fabric.link(hop.link).bit_error_rate);
  }
  return -std::expm1(safe);
}

// How many timeouts to expect in a run, at least: each queue pair in use has a last packet, which
// is acknowledged.
double expected_timeouts(const Fabric& fabric, const Wiring& wiring,
                         const PacketTransport& transport) {
  const Bytes mtu = fabric.cluster().network.mtu;
  double sum = 0;
  const auto add = [&](const Path& path, int pair, Bytes payload) {
    sum += chance_on(fabric, route_of(wiring, path.flow(FlowKind::kWire, pair)), payload, {});
    const FlowId back = path.flow(FlowKind::kAcknowledge);
    if (back == kNone) return;
    sum += chance_on(fabric, route_of(wiring, path.flow(FlowKind::kAcknowledge, pair)), {},
                     kAethBytes);
  };
  for (const WiredConnection& wired : wiring.connections) {
    if (wired.data.kind != PathKind::kNic) continue;
    bool used = false;
    for (int pair = 0; pair < wired.data.queue_pairs; ++pair) {
      const std::int64_t payload =
          transport.payload_of_queue_pair(wired.data.first_queue_pair + pair);
      if (payload == 0) continue;
      used = true;
      add(wired.data, pair, std::min(mtu, Bytes{payload}));
    }
    if (used && wired.credit.kind == PathKind::kNic) add(wired.credit, 0, {});
  }
  return sum;
}

// The path whose losses are told of: the first in use that crosses such a link.
const Path* lossy_path(const Fabric& fabric, const Wiring& wiring,
                       const PacketTransport& transport) {
  for (const WiredConnection& wired : wiring.connections) {
    const Path& path = wired.data;
    if (path.kind != PathKind::kNic) continue;
    if (transport.payload_of_queue_pair(path.first_queue_pair) == 0) continue;
    for (const RouteHop& hop : route_of(wiring, path.flow(FlowKind::kWire))) {
      if (fabric.link(hop.link).bit_error_rate > 0) return &path;
    }
  }
  return nullptr;
}

std::string text_of(double number) {
  std::ostringstream text;
  text << std::setprecision(3) << number;
  return text.str();
}

std::string time_text(double seconds) {
  if (seconds < 1e-3) return text_of(seconds * 1e6) + " us";
  if (seconds < 1) return text_of(seconds * 1e3) + " ms";
  if (seconds < 120) return text_of(seconds) + " s";
  if (seconds < 7200) return text_of(seconds / 60) + " minutes";
  if (seconds < 172'800) return text_of(seconds / 3600) + " hours";
  if (seconds < 2 * 365 * 86'400.0) return text_of(seconds / 86'400) + " days";
  return text_of(seconds / (365 * 86'400.0)) + " years";
}

// Up to what a loss costs that nobody is told of.
std::string cost_text(const LossCost& cost, Retransmission retransmission) {
  if (!cost.told) {
    return "NICs that place packets in whatever order they come cannot tell a lost one from a late "
           "one: one that is lost costs ";
  }
  return "One in the middle of a message costs about " +
         time_text(cost.middle.microseconds() * 1e-6) +
         (retransmission == Retransmission::kSelectiveRepeat
              ? ", for itself alone"
              : ", for what is sent before its sender is told") +
         "; the last packet of a queue pair or its acknowledgement costs ";
}

}  // namespace

LossCost loss_cost(const Fabric& fabric, const Wiring& wiring, const Path& path) {
  const Cluster& cluster = fabric.cluster();
  const Node& node = cluster.node;
  const Bytes mtu = cluster.network.mtu;
  const Route& wire = route_of(wiring, path.flow(FlowKind::kWire));
  const Link& out = fabric.link(wire.front().link);
  const Bytes on_wire = mtu + wire.front().overhead;
  const Duration slot = serialisation_time(on_wire, out.rate);
  const Bytes buffer =
      node.nic.transmit_buffer.count > 0 ? node.nic.transmit_buffer : mtu * kUnboundedBufferPackets;
  Duration read = node.nic.transmit_latency;
  if (const Route& completions = route_of(wiring, path.flow(FlowKind::kCompletion));
      !completions.empty()) {
    read += idle_time(fabric, route_of(wiring, path.flow(FlowKind::kReadRequest)), {}, {}) +
            node.gpu.read_latency + idle_time(fabric, completions, mtu, {});
  }
  const Duration held = slot * (buffer.count / mtu.count);
  Duration answer;
  if (path.flow(FlowKind::kAcknowledge) != kNone) {
    answer =
        idle_time(fabric, route_of(wiring, path.flow(FlowKind::kAcknowledge)), {}, kAethBytes) +
        node.nic.receive_latency;
  }
  LossCost cost;
  if (path.timeout > 0) cost.end = {ack_timeout(path.timeout)};
  cost.told = tells_gaps(cluster);
  if (!cost.told) {
    cost.middle = cost.end;
  } else if (node.nic.retransmission == Retransmission::kSelectiveRepeat) {
    cost.middle = slot;
  } else {
    cost.middle = std::max(read, held) + idle_time(fabric, wire, mtu, {}) + slot +
                  node.nic.receive_latency + answer;
  }
  return cost;
}

std::vector<std::string> loss_notes(const FinishedRun& world, const Wiring& wiring,
                                    const PacketTransport& transport) {
  const Fabric& fabric = world.fabric();
  double expected = 0;
  std::int64_t packets = 0;
  std::set<std::string> names;
  for (std::size_t i = 0; i < fabric.links().size(); ++i) {
    const Link& link = fabric.links()[i];
    if (link.bit_error_rate == 0) continue;
    const LinkLosses::Totals totals = world.losses(static_cast<LinkId>(i));
    expected -= static_cast<double>(totals.bits) * std::log1p(-link.bit_error_rate);
    packets += totals.packets;
    names.insert(fabric.resources()[static_cast<std::size_t>(link.resource)].name);
  }
  const Path* path = lossy_path(fabric, wiring, transport);
  if (path == nullptr || expected == 0 || expected >= kEnough) return {};
  const double an_hour = kPsAnHour / static_cast<double>(world.end());
  const double timeouts = expected_timeouts(fabric, wiring, transport);
  const LossCost cost = loss_cost(fabric, wiring, *path);
  std::ostringstream text;
  text << "bit errors on " << *names.begin();
  if (names.size() > 1) text << " and " << names.size() - 1 << " more";
  text << " are rare: " << text_of(expected) << " of " << packets
       << " packets are lost in such a run on average, " << text_of(expected * an_hour)
       << " an hour if runs follow each other. "
       << cost_text(cost, fabric.cluster().node.nic.retransmission);
  if (cost.end.ps == 0) return {text.str() + "the run, since the ACK timer is off"};
  text << "the ACK timeout, " << time_text(cost.end.microseconds() * 1e-6) << ", and that comes ";
  const double often = (cost.told ? timeouts : expected) * an_hour;
  text << text_of(often) << " times an hour at " << (cost.told ? "least" : "most") << ", once in "
       << time_text(3600 / often);
  return {text.str()};
}

}  // namespace gradhaul

#include "core/pause_marks.h"

#include <algorithm>

#include "core/network_framing.h"
#include "core/packet_loss.h"
#include "core/roce_framing.h"

namespace gradhaul {
namespace {

// Of a switch of which nothing says how many ports it has.
constexpr int kUsualPorts = 64;

Bytes in_time(BitRate rate, Duration time) {
  const Int128 bits = Int128{rate.bits_per_second} * time.ps;
  return {static_cast<std::int64_t>(bits / (Int128{8} * 1'000'000'000'000))};
}

}  // namespace

PauseMarks least_marks(const Network& network) {
  const PauseSettings& pause = network.pause;
  PauseMarks marks{pause.xoff, pause.xon};
  if (pause.alpha <= 0) return marks;
  const int ports = network.topology.switch_ports > 0 ? network.topology.switch_ports : kUsualPorts;
  const Bytes headroom = pause.headroom.value_or(needed_headroom(network));
  const double shared = static_cast<double>((network.switch_buffer - headroom * ports).count);
  // Choudhury and Hahne: so many ports that are held up settle there.
  const double least = pause.alpha * std::max(shared, 0.0) / (1 + ports * pause.alpha);
  marks.xoff = {static_cast<std::int64_t>(least)};
  marks.xon = {std::max<std::int64_t>(0, (marks.xoff - (pause.xoff - pause.xon)).count)};
  return marks;
}

// A frame counts from when it is there whole.
Bytes held_in_passing(const Network& network) {
  return in_time(network.link, network.switch_latency) + largest_packet(network);
}

// Frames that are on the wire the other way, the pause frame itself, there and back, and the first
// frame, which counts when it is there whole: as much as headroom has to hold.
Bytes gone_before_resumed(const Network& network) { return needed_headroom(network); }

bool pauses_without_need(const Network& network) {
  if (network.kind != NetworkKind::kRoce || !network.pause.on || network.lossy_class ||
      network.topology.kind == TopologyKind::kBackToBack) {
    return false;
  }
  const PauseMarks marks = least_marks(network);
  return marks.xoff < held_in_passing(network) || marks.xon < gone_before_resumed(network);
}

}  // namespace gradhaul

// How the plain engine pauses links whose far buffers fill (PFC), lets them go on, and marks
// packets where queues grow (ECN).

#include <algorithm>

#include "core/roce_framing.h"
#include "sim/engine_events.h"
#include "sim/packet_engine.h"

namespace gradhaul {

// Looks at what waits when the packet comes. Draws are hashes of link and packet, so that they do
// not depend on what else is drawn.
void PacketEngine::mark(LinkId link, Packet& arrived) {
  LinkState& state = link_state(link);
  const CongestionControl& rules = fabric_.cluster().network.congestion;
  if (arrived.payload > 0) {
    const std::uint64_t draw =
        mix64(mix64(seed_ + static_cast<std::uint64_t>(link)) +
              static_cast<std::uint64_t>(state.markable++) * 0x9E3779B97F4A7C15);
    const double chance = static_cast<double>(draw >> 11) * 0x1p-53;
    const auto over = static_cast<double>(state.queued - rules.kmin.count);
    const auto whole = static_cast<double>((rules.kmax - rules.kmin).count);
    const bool marks = state.queued > rules.kmax.count ||
                       (state.queued > rules.kmin.count && chance < rules.pmax * over / whole);
    if (marks && !arrived.marked) ++state.marked;
    arrived.marked = arrived.marked || marks;
  }
}

void PacketEngine::ask_for_looks() {
  for (const LosslessBuffers::Look& look : buffers_.looks()) {
    wheel_.schedule({look.time, event_order(Phase::kRelease, static_cast<std::uint32_t>(look.link)),
                     event_what(EngineEvent::kLook, look.link)});
  }
  buffers_.looks().clear();
}

void PacketEngine::leave_buffer(const Packet& leaving, std::int64_t time, ResourceId culprit,
                                bool stormed) {
  GRADHAUL_ASSERT(!ahead_, "what an Ethernet port holds is not decided ahead");
  if (!state(leaving.ingress).lossless) {
    dropping_.passed_on(leaving.ingress, time, leaving.ingress_units);
    return;
  }
  buffers_.leave(leaving.ingress, now_, time, leaving.ingress_units, culprit, stormed);
  ask_for_looks();
}

void PacketEngine::look_at_buffer(LinkId link) {
  orders_.clear();
  buffers_.look(link, now_, orders_);
  ask_for_looks();
  for (const LosslessBuffers::Order& order : orders_) send_pause(order);
}

// The frame goes before all that waits, and after what is being sent. It is renewed before a pause
// ends of itself; those frames are counted, and their time on the wire is not (84 bytes in 32767
// quanta, 4 millionths).
void PacketEngine::send_pause(const LosslessBuffers::Order& order) {
  const PauseRules& rules = fabric_.link(order.link).pause;
  LinkState& way = link_state(pause_ways_[static_cast<std::size_t>(order.link)]);
  const std::int64_t time = serialisation_time(kPauseFrame, BitRate{way.rate}).ps;
  const std::int64_t sent = std::max(now_, way.free) + time;
  if (way.watched) {
    observer_->on_pause_frame(order.link, pause_ways_[static_cast<std::size_t>(order.link)],
                              order.pause, now_, sent - time, time);
  }
  way.free = sent;
  way.carry = 0;
  way.busy_total += time;
  if (!rules.heeded) return;
  wheel_.schedule(
      {sent + (rules.cable + rules.response).ps,
       event_order(Phase::kPause, static_cast<std::uint32_t>(order.link)),
       event_what(order.pause ? EngineEvent::kPause : EngineEvent::kResume, order.link)});
}

void PacketEngine::schedule_storms(LinkId link) {
  for (const Outage& storm : fabric_.link(link).storms) {
    const auto order = event_order(Phase::kPause, static_cast<std::uint32_t>(link));
    wheel_.schedule({storm.from.ps, order, event_what(EngineEvent::kStormBegins, link)});
    wheel_.schedule({storm.until.ps, order, event_what(EngineEvent::kStormEnds, link)});
  }
}

void PacketEngine::storm(LinkId link, bool begins) {
  orders_.clear();
  buffers_.storm(link, now_, begins, state(link).resource, orders_);
  ask_for_looks();
  for (const LosslessBuffers::Order& order : orders_) send_pause(order);
}

void PacketEngine::heed_pause(LinkId link, bool pause) {
  LinkState& held = link_state(link);
  constexpr auto kLosslessClass =
      static_cast<std::uint8_t>(1U << static_cast<int>(TrafficClass::kPosted));
  held.paused = pause ? kLosslessClass : 0;
  buffers_.hold(link, now_, pause);
  if (held.watched) observer_->on_pause(link, pause, now_);
  if (held.waiting == 0) return;
  // A pause frame may be on it just then, for which nobody else waits.
  if (held.free <= now_) return list_start(link);
  wake_at(link, held.free);
}

}  // namespace gradhaul

// How the plain engine pauses links whose far buffers fill (PFC), and lets them go on.

#include <algorithm>

#include "core/roce_framing.h"
#include "sim/engine_events.h"
#include "sim/packet_engine.h"

namespace gradhaul {

void PacketEngine::ask_for_looks() {
  for (const LosslessBuffers::Look& look : buffers_.looks()) {
    wheel_.schedule({look.time, event_order(Phase::kRelease, static_cast<std::uint32_t>(look.link)),
                     event_what(EngineEvent::kLook, look.link)});
  }
  buffers_.looks().clear();
}

void PacketEngine::leave_buffer(const Packet& leaving, std::int64_t time, ResourceId culprit) {
  GRADHAUL_ASSERT(!ahead_, "what a lossless port holds is not decided ahead");
  buffers_.leave(leaving.ingress, now_, time, leaving.ingress_units, culprit);
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
  way.free = sent;
  way.carry = 0;
  way.busy_total += time;
  wheel_.schedule(
      {sent + (rules.cable + rules.response).ps,
       event_order(Phase::kPause, static_cast<std::uint32_t>(order.link)),
       event_what(order.pause ? EngineEvent::kPause : EngineEvent::kResume, order.link)});
}

void PacketEngine::heed_pause(LinkId link, bool pause) {
  LinkState& held = link_state(link);
  constexpr auto kLosslessClass =
      static_cast<std::uint8_t>(1U << static_cast<int>(TrafficClass::kPosted));
  held.paused = pause ? kLosslessClass : 0;
  buffers_.hold(link, now_, pause);
  if (held.waiting != 0 && held.free <= now_) list_start(link);
}

}  // namespace gradhaul

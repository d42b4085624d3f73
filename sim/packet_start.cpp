// How the plain engine starts packets on links: who is next, whether credits suffice, and what a
// start means for the buffer before and the link after.

#include <algorithm>
#include <bit>
#include <utility>

#include "sim/packet_engine.h"
#include "sim/stations.h"

namespace gradhaul {

// May the packet at the head of a class start, in part or whole, or when?
PacketEngine::Attempt PacketEngine::attempt(LinkState& state, int traffic_class) {
  const Packet& head = packet(state.head[traffic_class]);
  FlowHop& hop = hop_of(head);
  const TrainForm& form = form_of(hop, head);
  CreditReturns& credits = state.credits[traffic_class];
  if (may_go_whole(state, traffic_class, hop, form, now_)) return {form.units};
  credits.absorb(now_);
  if (hop.unit > 0 && state.unit_credits) {
    return attempt_train(state, traffic_class, form,
                         longest_train(state, traffic_class, hop, form));
  }
  if (credits.known() < form.credits) return {};
  return {0, credits.time_of(now_, form.credits)};
}

// Whether the credits that are back at `time` take all of the packet, in one train.
bool PacketEngine::may_go_whole(LinkState& state, int traffic_class, const FlowHop& hop,
                                const TrainForm& form, std::int64_t time) const {
  CreditReturns& credits = state.credits[traffic_class];
  if (!credits.guarded()) return true;
  if (longest_train(state, traffic_class, hop, form) < form.units) return false;
  if (credits.available() < form.credits) credits.absorb(time);
  return credits.available() >= form.credits;
}

// Before a faster link, where it waits lest that run dry, a third of a window that holds less than
// two trains: the credits of one third are then known before the others are used up.
std::int64_t PacketEngine::longest_train(const LinkState& state, int traffic_class,
                                         const FlowHop& hop, const TrainForm& form) const {
  if (hop.next_is_slower || !state.unit_credits || hop.unit == 0) return form.units;
  const std::int64_t window = state.credits[traffic_class].window();
  return 2 * form.units <= window ? form.units
                                  : std::clamp<std::int64_t>(window / 3, 1, form.units);
}

PacketEngine::Attempt PacketEngine::attempt_train(LinkState& state, int traffic_class,
                                                  const TrainForm& form, std::int64_t most) {
  const CreditReturns& credits = state.credits[traffic_class];
  const std::int64_t unit_time = form.time / form.units;
  const std::int64_t known = credits.known();
  const std::int64_t usable = credits.gapless(now_, unit_time, std::min(most, known));
  if (usable == most) return {usable};
  // Pieces only while the far end has little of ours left to work on; see the head of
  // packet_engine.h.
  const bool pieces = known * 4 >= credits.window();
  if (usable > 0 && pieces) return {usable};
  // As early as any later look could find it able to.
  std::int64_t retry = INT64_MAX;
  if (known >= most) retry = std::min(retry, credits.start_for(now_, unit_time, most));
  if (known > 0 && pieces) retry = std::min(retry, credits.start_for(now_, unit_time, 1));
  return {0, retry};
}

// Cuts `units` off the front of the head packet; the rest stays at the head.
PacketId PacketEngine::cut(LinkState& state, int traffic_class, std::int64_t units) {
  Packet& rest = packet(state.head[traffic_class]);
  Packet piece = rest;
  piece.payload = static_cast<std::int32_t>(units * hop_of(rest).unit);
  piece.extra = 0;
  piece.trace = kNone;
  piece.last_part = false;
  piece.last_of_message = false;
  rest.payload -= piece.payload;
  // The buffer before this link is given back piece by piece, where it is counted so.
  piece.ingress_units = 0;
  if (rest.ingress_units > 0 && link_state(rest.ingress).unit_credits) {
    piece.ingress_units =
        static_cast<std::int16_t>(std::min<std::int64_t>(units, rest.ingress_units - 1));
    rest.ingress_units = static_cast<std::int16_t>(rest.ingress_units - piece.ingress_units);
  }
  return add_packet(piece);
}

PacketId PacketEngine::take_head(LinkState& state, int traffic_class) {
  const PacketId id = state.head[traffic_class];
  state.head[traffic_class] = packet(id).next;
  if (state.head[traffic_class] == kNone) {
    state.tail[traffic_class] = kNone;
    state.waiting = static_cast<std::uint8_t>(state.waiting & ~(1U << traffic_class));
  }
  return id;
}

// The class whose head was ready first and may start, or kNone; a read request passes no posted
// write.
int PacketEngine::choose(LinkState& state, Attempt& best, std::int64_t& retry) {
  if (state.paused != 0 && (state.waiting & ~state.paused) == 0) return kNone;
  if ((state.waiting & (state.waiting - 1)) == 0) {
    const int only = std::countr_zero(state.waiting);
    best = attempt(state, only);
    retry = best.retry;
    return best.units > 0 ? only : kNone;
  }
  constexpr int kPosted = static_cast<int>(TrafficClass::kPosted);
  constexpr int kNonPosted = static_cast<int>(TrafficClass::kNonPosted);
  if (state.ethernet && state.head[kNonPosted] != kNone) {
    // On Ethernet these are notifications, in a priority of their own before all else.
    best = attempt(state, kNonPosted);
    return kNonPosted;
  }
  int chosen = kNone;
  for (int c = 0; c < kTrafficClasses; ++c) {
    if (state.head[c] == kNone || (state.paused >> c & 1U) != 0) continue;
    const Packet& head = packet(state.head[c]);
    if (chosen != kNone) {
      const Packet& other = packet(state.head[chosen]);
      if (std::pair(other.ready, hop_of(other).ordinal) <
          std::pair(head.ready, hop_of(head).ordinal))
        continue;
    }
    if (c == kNonPosted && chosen != kPosted && state.head[kPosted] != kNone &&
        packet(state.head[kPosted]).ready <= head.ready) {
      continue;
    }
    const Attempt tried = attempt(state, c);
    retry = std::min(retry, tried.retry);
    if (tried.units == 0) continue;
    chosen = c;
    best = tried;
  }
  return chosen;
}

void PacketEngine::try_start(LinkId link) {
  LinkState& state = link_state(link);
  while (state.waiting != 0) {
    if (state.free > now_) {
      if (state.backlog_since < 0) state.backlog_since = now_;
      wake_at(link, state.free);
      return;
    }
    Attempt best;
    std::int64_t retry = INT64_MAX;
    const int chosen = choose(state, best, retry);
    if (chosen == kNone) {
      if (state.backlog_since < 0) state.backlog_since = now_;
      if (state.stall_since < 0) state.stall_since = now_;
      if (retry != INT64_MAX) wake_at(link, retry);
      return;
    }
    const Packet& head = packet(state.head[chosen]);
    const bool whole = best.units == form_of(hop_of(head), head).units;
    start(link, whole ? take_head(state, chosen) : cut(state, chosen, best.units));
  }
  if (state.backlog_since >= 0) {
    state.backlog_total += now_ - state.backlog_since;
    state.backlog_since = -1;
  }
}

std::int64_t PacketEngine::serialise(LinkState& state, const TrainForm& form, std::int64_t start) {
  std::int64_t serialisation = form.time;
  std::int64_t carry = form.remainder + (state.free == start ? state.carry : 0);
  if (carry >= state.rate && state.rate > 0) {
    carry -= state.rate;
    ++serialisation;
  }
  state.carry = carry;
  return serialisation;
}

void PacketEngine::count_served(LinkState& state, FlowHop& hop, const Packet& served,
                                std::int64_t start, std::int64_t serialisation) {
  state.free = start + serialisation;
  state.busy_total += serialisation;
  state.payload_total += served.payload;
  state.extra_total += served.extra;
  state.digest.add(start, LinkDigest::part(hop.ordinal, served.sequence - hop.last_sequence));
  hop.last_sequence = served.sequence;
  if (hop.data && served.last_part) ++packet_hops_;
}

void PacketEngine::start(LinkId link, PacketId id) {
  LinkState& state = link_state(link);
  Packet& started = packet(id);
  FlowHop& hop = hop_of(started);
  const TrainForm& form = form_of(hop, started);
  const std::int64_t was_free = state.free;
  const std::int64_t serialisation = serialise(state, form, now_);
  count_served(state, hop, started, now_, serialisation);
  const int c = hop.traffic_class;
  const bool guarded = state.credits[c].guarded();
  if (guarded) state.credits[c].take(form.credits);
  ResourceId culprit = state.resource;
  if (state.stall_since >= 0) {
    state.stall_total += now_ - state.stall_since;
    if (state.watched) observer_->on_stall(link, state.stall_since, now_);
    state.stall_since = -1;
    const ResourceId held_up = stall_culprit(link, c);
    if (held_up != kNoResource) culprit = held_up;
  }
  if (state.watched) observe_start(link, started, hop, serialisation);
  const bool stormed = state.lossless && buffers_.stormed(link, started.ready);
  if (started.ingress_units > 0) give_back(started, was_free, serialisation, culprit, stormed);
  if (started.trace != kNone) trace_start(started, link);
  started.ingress = link;
  started.ingress_units = static_cast<std::int16_t>(guarded ? form.credits : 0);
  started.ingress_copy = hop.copy;
  if (state.counts_queue) state.queued -= form.credits;
  const bool lost = state.ethernet && c == 0 && !fill_buffers(link, started, serialisation);
  if (hop.notify_start) {
    const Packet copy = started;
    lost ? discard(id, link) : go_on(id, link, serialisation);
    endpoints_.on_first_start(copy, now_);
  } else {
    lost ? discard(id, link) : go_on(id, link, serialisation);
  }
}

void PacketEngine::observe_start(LinkId link, const Packet& started, const FlowHop& hop,
                                 std::int64_t serialisation) {
  const std::int64_t wire = wire_bytes(hop, started, hop.form.units);
  observer_->on_start({link, started, wire, now_, serialisation, !ahead_});
}

// The packet leaves the buffer at the far end of its ingress link from now on.
// `was_free`: since when the link it leaves by had nothing else to do.
void PacketEngine::give_back(const Packet& leaving, std::int64_t was_free,
                             std::int64_t serialisation, ResourceId culprit, bool stormed) {
  LinkState& state = link_state(leaving.ingress);
  CreditRun run;
  run.units = leaving.ingress_units;
  run.culprit = copies_.seen(culprit, copies_.minus(hop_of(leaving).copy, leaving.ingress_copy));
  if (state.ethernet) {
    return leave_buffer(leaving, now_ + serialisation, run.culprit, stormed);
  }
  int c = static_cast<int>(TrafficClass::kPosted);
  run.first = now_ + state.return_after_leaving;
  const FlowHop& leaving_by = hop_of(leaving);
  // Of the flow on the link that gets them, or where another flow goes on, on the one it goes by.
  run.order = leaving_by.first ? leaving_by.ordinal : (&leaving_by)[-1].ordinal;
  if (state.unit_credits) {
    c = hop_of(leaving).traffic_class;
    run.spacing = serialisation / run.units;
    FlowHop& before = (&hop_of(leaving))[-1];
    if (!before.next_is_slower) {
      const std::int64_t first = first_unit_leaves(before, leaving, was_free, serialisation);
      if (run.units > 1) run.spacing += (now_ - first) / (run.units - 1);
      run.first -= now_ - first;
    }
  } else {
    run.first += serialisation;
  }
  state.credits[c].add(run);
  if ((state.waiting >> c & 1U) != 0 && state.free <= now_) list_start(leaving.ingress);
}

// A train goes onto a faster link without gaps, and waits for that. Its units would go on one by
// one as they come, and their credits come back as if they did, from the first one, which leaves
// when it is there whole and the link is free, to the last, which leaves as it does in the train.
std::int64_t PacketEngine::first_unit_leaves(FlowHop& before, const Packet& leaving,
                                             std::int64_t was_free, std::int64_t serialisation) {
  const TrainForm& slow = form_of(before, leaving);
  const std::int64_t wait = tail_wait(before, leaving, slow.time);
  const std::int64_t unit_wait = std::max<std::int64_t>(0, slow.time - serialisation) / slow.units;
  return std::min(now_, std::max(was_free, leaving.ready - wait + unit_wait));
}

void PacketEngine::release(const Packet& delivered, std::int64_t time, ResourceId culprit) {
  if (delivered.ingress_units == 0) return;
  if (stations_ && !stations_->waits()) return stations_->release(delivered, time);
  LinkState& state = link_state(delivered.ingress);
  if (state.ethernet) return leave_buffer(delivered, time, culprit);
  constexpr int kPosted = static_cast<int>(TrafficClass::kPosted);
  state.credits[kPosted].add({time + state.return_after_leaving, 0, delivered.ingress_units,
                              culprit, hop_of(delivered).ordinal});
  if ((state.waiting & 1U) != 0 && state.free <= now_) list_start(delivered.ingress);
}

// How much later than its head a packet can begin on the next link, lest that one run dry.
std::int64_t PacketEngine::tail_wait(FlowHop& hop, const Packet& moved,
                                     std::int64_t serialisation) {
  if (hop.next_wants_whole) return serialisation;
  FlowHop& next = (&hop)[1];
  return std::max<std::int64_t>(0, serialisation - form_of(next, moved).time);
}

std::int64_t PacketEngine::wait_for_tail(FlowHop& hop, const Packet& moved,
                                         std::int64_t serialisation) {
  if (hop.next_is_slower) return 0;
  const std::int64_t wait = tail_wait(hop, moved, serialisation);
  if (moved.trace != kNone) blame_link(trace(moved.trace), hop, Cause::kBusy, wait);
  return wait;
}

void PacketEngine::go_on(PacketId id, LinkId link, std::int64_t serialisation) {
  const LinkState& state = link_state(link);
  if (state.loses && lose(id, link, serialisation)) return;
  Packet& moved = packet(id);
  FlowHop& hop = hop_of(moved);
  if (hop.last) return arrive_at_end(id, link, serialisation);
  const std::int64_t wait = wait_for_tail(hop, moved, serialisation);
  ++moved.hop;
  moved.ready = now_ + state.latency + wait;
  queue(id);
}

void PacketEngine::count_backlog(LinkState& state, const Packet& packet, std::int64_t start) {
  state.backlog_total += start - std::min(start, std::max(packet.ready, state.digest.last_start));
}

bool PacketEngine::try_ahead(LinkId link, LinkState& state, PacketId id) {
  const Packet& starting = packet(id);
  FlowHop& hop = hop_of(starting);
  const std::int64_t time = std::max(starting.ready, state.free);
  if (!may_go_whole(state, hop.traffic_class, hop, form_of(hop, starting), time)) return false;
  if (starting.trace != kNone) trace(starting.trace).stalled_at_arrival = stall_total(link);
  count_backlog(state, starting, time);
  const std::int64_t run_time = std::exchange(now_, time);
  const bool was_ahead = std::exchange(ahead_, true);
  start(link, id);
  now_ = run_time;
  ahead_ = was_ahead;
  return true;
}

void PacketEngine::count_delivered(const FlowHop& hop, const Packet& delivered,
                                   std::int64_t serialisation) {
  if (hop.data) payload_delivered_ += delivered.payload;
  if (delivered.trace == kNone) return;
  blame_link(trace(delivered.trace), hop, Cause::kBusy, serialisation);
}

void PacketEngine::arrive_at_end(PacketId id, LinkId link, std::int64_t serialisation) {
  Packet& moved = packet(id);
  const FlowHop& hop = hop_of(moved);
  const std::int64_t delivered = now_ + serialisation + state(link).latency;
  if (!hop.endpoint_keeps_buffer) empty_far_buffer(moved, link, serialisation);
  count_delivered(hop, moved, serialisation);
  const Packet copy = moved;
  free(id);
  endpoints_.on_delivery(copy, delivered);
}

// Of a packet that goes nowhere from there.
void PacketEngine::empty_far_buffer(Packet& moved, LinkId link, std::int64_t serialisation) {
  if (moved.ingress_units == 0) return;
  LinkState& state = link_state(link);
  const FlowHop& hop = hop_of(moved);
  const std::int64_t delivered = now_ + serialisation + state.latency;
  if (state.ethernet) {
    leave_buffer(moved, delivered, state.resource);
  } else {
    CreditRun run;
    run.units = moved.ingress_units;
    run.order = hop.ordinal;
    if (state.unit_credits) {
      run.first = now_ + state.latency + state.return_after_leaving;
      run.spacing = serialisation / run.units;
    } else {
      run.first = delivered + state.return_after_leaving;
    }
    state.credits[hop.traffic_class].add(run);
  }
  moved.ingress_units = 0;
}

void PacketEngine::trace_start(const Packet& started, LinkId link) {
  const LinkState& state = link_state(link);
  const FlowHop& hop = hop_of(started);
  Trace& parts = trace(started.trace);
  const std::int64_t waited = now_ - started.ready;
  const std::int64_t stalled = std::min(waited, state.stall_total - parts.stalled_at_arrival);
  if (stalled > 0) {
    const ResourceId culprit = copies_.seen(stall_culprit(link, hop.traffic_class), hop.copy);
    parts.add(copies_.seen(culprit == kNoResource ? resource_of(hop) : culprit, parts.shift),
              stall_cause(link), stalled);
  }
  blame_link(parts, hop, Cause::kBusy, waited - stalled);
  blame_link(parts, hop, Cause::kLatency, state.latency);
}

}  // namespace gradhaul

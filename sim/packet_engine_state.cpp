// The plain engine's state in words, and what it has added up, several times over.

#include "core/assert.h"
#include "core/repeated_growth.h"
#include "sim/engine_events.h"
#include "sim/packet_engine.h"
#include "sim/stations.h"

namespace gradhaul {

void PacketEngine::append_packet(StateWords& words, const Packet& packet, LinkId queued_at) const {
  const Flow& flow = flows_[static_cast<std::size_t>(packet.flow)];
  words.add_time(packet.ready);
  words.add(flow.next_sequence - packet.sequence);
  words.add(packet.hop);
  words.add_message(packet.message);
  words.add(packet.payload, packet.asked, packet.ingress, packet.ingress_units, packet.ingress_copy,
            packet.extra, packet.units, packet.last_part, packet.last_of_message);
  const bool waits = packet.trace != kNone && queued_at != kNoLink;
  words.add(waits ? stall_total(queued_at) -
                        traces_[static_cast<std::size_t>(packet.trace)].stalled_at_arrival
                  : -1);
}

void PacketEngine::append_events(StateWords& words) const {
  for (const Event& event : wheel_.pending()) {
    const std::uint32_t kind = kind_of(event);
    const std::int32_t index = index_of(event);
    words.add_time(event.time);
    words.add(event.order);
    words.add(kind);
    if (kind == static_cast<std::uint32_t>(EngineEvent::kArrival)) {
      append_packet(words, packets_[static_cast<std::size_t>(index)], kNoLink);
    } else if (kind < kFirstEndpointEvent) {
      words.add(index);
    } else {
      endpoints_.append_event(words, kind - kFirstEndpointEvent, index);
    }
  }
}

void PacketEngine::append_timing(StateWords& words) const {
  for (const LinkId used : used_links_) {
    const LinkState& link = state(used);
    words.add_due(link.free);
    words.add(link.free > now_ ? link.carry : 0);
    words.add_time(link.wake);
    // Since when does not matter: their totals are only ever compared.
    words.add(link.backlog_since >= 0, link.stall_since >= 0);
  }
  // Where little is on its way, links are often all free.
  words.add(wheel_.size(), payload_sent_ - payload_delivered_ - payload_lost_);
}

void PacketEngine::append_state(StateWords& words) const {
  GRADHAUL_ASSERT(start_count_ == 0, "starts of an instant are decided within it");
  for (const LinkId used : used_links_) {
    const LinkState& link = state(used);
    if (link.lossless) {
      words.add(link.paused);
      buffers_.append_state(words, used);
    }
    for (int c = 0; c < kTrafficClasses; ++c) {
      if (link.credits[c].guarded()) link.credits[c].append_state(words);
      std::int64_t queued = 0;
      for (PacketId id = link.head[c]; id != kNone;
           id = packets_[static_cast<std::size_t>(id)].next) {
        append_packet(words, packets_[static_cast<std::size_t>(id)], used);
        ++queued;
      }
      words.add(queued);
    }
  }
  for (const Flow& flow : flows_) {
    for (int hop = 0; hop < flow.hops; ++hop) {
      words.add(flow.next_sequence -
                hops_[static_cast<std::size_t>(flow.first_hop + hop)].last_sequence);
    }
  }
  if (stations_) stations_->append_state(words);
  append_events(words);
}

PacketEngineTotals PacketEngine::totals() const {
  PacketEngineTotals totals;
  totals.links.reserve(states_.size());
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const LinkState& link = states_[i];
    totals.links.push_back({link.digest, link.busy_total, link.payload_total, link.extra_total,
                            stall_elapsed(static_cast<LinkId>(i))});
  }
  if (buffers_.any()) {
    for (std::size_t i = 0; i < states_.size(); ++i) {
      totals.pauses.push_back(pauses(static_cast<LinkId>(i)));
    }
  }
  totals.now = now_;
  totals.elapsed = elapsed();
  totals.packet_hops = packet_hops_ + repeated_hops_;
  totals.payload_sent = payload_sent_;
  totals.payload_delivered = payload_delivered_;
  return totals;
}

bool PacketEngine::continues_like(const PacketEngineTotals& since) const {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const LinkDigest& before = since.links[i].digest;
    const LinkDigest& after = states_[i].digest;
    if (after.count != before.count && now_ - after.last_start != since.now - before.last_start) {
      return false;
    }
  }
  return true;
}

void PacketEngine::repeat(const PacketEngineTotals& since, std::int64_t times) {
  const std::int64_t skipped = (elapsed() - since.elapsed) * times;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    LinkState& link = states_[i];
    const LinkTotals& before = since.links[i];
    // What has not moved meanwhile lies further back now.
    if (link.digest.count == before.digest.count) link.digest.last_start -= skipped;
    link.digest.repeat(before.digest, times);
    grow_again(link.busy_total, before.busy, times);
    grow_again(link.payload_total, before.payload, times);
    grow_again(link.extra_total, before.extra, times);
    // Marks that packets on their way have taken stay good: what is skipped is added up apart.
    link.repeated_stall += (stall_elapsed(static_cast<LinkId>(i)) - before.stall) * times;
  }
  for (std::size_t i = 0; i < since.pauses.size(); ++i) {
    const LosslessBuffers::Totals now = pauses(static_cast<LinkId>(i));
    const LosslessBuffers::Totals& before = since.pauses[i];
    buffers_.add_repeated(static_cast<LinkId>(i), {(now.frames - before.frames) * times,
                                                   (now.paused - before.paused) * times});
  }
  repeated_hops_ += (packet_hops_ + repeated_hops_ - since.packet_hops) * times;
  grow_again(payload_sent_, since.payload_sent, times);
  grow_again(payload_delivered_, since.payload_delivered, times);
  repeated_time_ += skipped;
}

}  // namespace gradhaul

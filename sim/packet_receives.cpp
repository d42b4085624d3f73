// Receives that may be missing (core/receive_queue.h): writes with immediate data take one each
// when their last packet comes, and whoever finds none is told to wait.
//
// Whether one is posted is known only when the packet is there. So packets of such queue pairs are
// looked at then, and not when they begin to come in.
//
// A receive is posted again when the receiver's thread has seen the completion that took it, or so
// much later. Other receives than the queue's own do not come and go.

#include <algorithm>

#include "core/receive_queue.h"
#include "sim/packet_transport.h"

namespace gradhaul {

void PacketTransport::accept_later(const Packet& packet, std::int64_t delivered,
                                   std::int64_t arrived) {
  if (free_incoming_.empty()) {
    free_incoming_.push_back(static_cast<std::int32_t>(incoming_.size()));
    incoming_.emplace_back();
  }
  const std::int32_t index = free_incoming_.back();
  free_incoming_.pop_back();
  incoming_[static_cast<std::size_t>(index)] = {packet, delivered, arrived};
  const Message& of = message(packet.message);
  context_.engine.schedule(arrived, static_cast<std::uint32_t>(RunEvent::kReceived), index,
                           path_of(of).first_queue_pair + of.queue_pair);
}

void PacketTransport::accept_now(std::int32_t index) {
  const IncomingPacket there = incoming_[static_cast<std::size_t>(index)];
  free_incoming_.push_back(index);
  accept(there.packet, there.delivered, there.arrived);
}

// Of a packet that is taken else: false where it needs a receive and there is none.
bool PacketTransport::takes_receive(const Packet& packet, std::int64_t arrived) {
  Message& incoming = message(packet.message);
  if (path_of(incoming).receives == 0) return true;
  QueuePairRecovery& pair = recovery_of(incoming);
  if (packet.last_of_message && !incoming.has_receive) {
    while (!pair.posted_later.empty() && pair.posted_later.front() <= arrived) {
      pair.posted_later.pop_front();
      ++pair.posted;
    }
    if (pair.posted == 0) {
      pair.lacking = packet.asked;
      send_answer(incoming, {pair.expected, false, 0, true}, arrived);
      return false;
    }
    --pair.posted;
    incoming.has_receive = true;
  }
  if (packet.asked == pair.lacking) pair.lacking = kNone;
  return true;
}

// Its completion is seen at `time`.
void PacketTransport::post_receive_again(std::int32_t index, std::int64_t time) {
  Message& seen = message(index);
  if (!seen.has_receive) return;
  seen.has_receive = false;
  std::deque<std::int64_t>& later = recovery_of(seen).posted_later;
  const std::int64_t posted = time + path_of(seen).receives_late.ps;
  later.insert(std::upper_bound(later.begin(), later.end(), posted), posted);
}

// As a sender that has been told to wait: nothing of the queue pair is begun until then, nor does
// it wait for an acknowledgement. In order, the answer names the packet that it waits for.
void PacketTransport::wait_for_receive(std::int32_t queue_pair, std::int32_t expected) {
  QueuePairRecovery& pair = recoveries_[static_cast<std::size_t>(queue_pair)];
  QueuePair& queue = queue_pairs_[static_cast<std::size_t>(queue_pair)];
  ++counts_at(queue.injector).rnr_nak_retry_err;
  if (pair.resting || pair.asked_at.empty()) return;
  if (!keeps_early_ && expected != pair.acknowledged) return;
  if (pair.rnr_retry != kRnrForEver && ++pair.rnr_tries > pair.rnr_retry) {
    give_up(queue_pair, pair.rnr_patience, pair.rnr_retry, true);
  }
  pair.resting = true;
  pair.deadline = INT64_MAX;
  queue.active = false;
  std::erase(injectors_[static_cast<std::size_t>(queue.injector)].active, queue_pair);
  context_.engine.schedule(context_.engine.now() + pair.rnr_patience,
                           static_cast<std::uint32_t>(RunEvent::kRnrTimer), queue_pair, queue_pair);
}

void PacketTransport::rnr_timer_ran(std::int32_t queue_pair) {
  QueuePairRecovery& pair = recoveries_[static_cast<std::size_t>(queue_pair)];
  QueuePair& queue = queue_pairs_[static_cast<std::size_t>(queue_pair)];
  pair.resting = false;
  if (queue.head != kNone) activate(queue_pair);
  begin_again(queue_pair, Cause::kNotReady);
}

}  // namespace gradhaul

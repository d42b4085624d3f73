// What a NIC makes a work request, or a write that comes in, wait for before it looks at it:
// contexts that it does not hold (sim/nic_contexts.h), and its queue pair's rate of work requests.

#include <algorithm>

#include "sim/packet_transport.h"

namespace gradhaul {

// Whether it comes again later. Requests of a queue pair stay in their order.
bool PacketTransport::held_in_nic(std::int32_t index) {
  const std::int64_t rate = node_.nic.queue_pair_rate;
  Message& ready = message(index);
  const Path& path = path_of(ready);
  // Sockets have neither work requests nor contexts.
  if (path.kind != PathKind::kNic || cores_ || (contexts_.empty() && rate == 0)) return false;
  const std::int32_t number = choose_queue_pair(ready);
  ready.admitted = true;
  const std::int64_t now = context_.engine.now();
  std::int64_t there = now;
  if (!contexts_.empty()) {
    NicContexts& contexts = contexts_[static_cast<std::size_t>(path.injector)];
    there = contexts.find(now, number, ready.credit ? kNone : path.source_gpu);
  }
  QueuePair& pair = queue_pairs_[static_cast<std::size_t>(number)];
  const std::int64_t start = std::max(there, pair.next_request);
  pair.next_request = start + (rate > 0 ? 1'000'000'000'000 / rate : 0);
  // Whoever is let in at this instant too, and was posted before, comes first.
  if (start == now && pair.held == 0) return false;
  ++pair.held;
  Trace& parts = context_.engine.trace(ready.trace);
  parts.add(path.sender, Cause::kContext, there - now);
  parts.add(path.sender, rate > 0 ? Cause::kQueuePair : Cause::kContext, start - there);
  event_for(index, RunEvent::kMessageReady, start);
  return true;
}

// It has been held, and comes again.
void PacketTransport::let_in(const Message& ready) {
  const std::int32_t number = path_of(ready).first_queue_pair + ready.queue_pair;
  --queue_pairs_[static_cast<std::size_t>(number)].held;
}

// When the NIC that a packet has come to can look at it: it takes them one after the other.
std::int64_t PacketTransport::find_contexts_of(const Packet& packet, std::int64_t arrived) {
  Message& incoming = message(packet.message);
  const Path& path = path_of(incoming);
  NicContexts& contexts = contexts_[static_cast<std::size_t>(receiving_injector(path))];
  std::int64_t there = contexts.in_order(arrived);
  if (!incoming.landing) {
    incoming.landing = true;
    // Slots are a connection's own. Regions that are sent from are named by GPUs, these after them.
    const std::int32_t gpus = context_.fabric.cluster().nodes * node_.gpu_count;
    there = contexts.find(there, path.first_queue_pair + incoming.queue_pair,
                          incoming.credit ? kNone : gpus + incoming.connection);
  }
  contexts.receive_after(there);
  return there;
}

}  // namespace gradhaul

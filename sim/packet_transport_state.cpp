// The transport's state in words: connections, queue pairs, injectors, and every message that these
// or the engine have mentioned.

#include "sim/packet_transport.h"

namespace gradhaul {

void PacketTransport::append_state(StateWords& words) const {
  for (const SimulatedConnection& connection : connections_) {
    words.add(connection.writes % std::max(1, connection.wires.data.queue_pairs));
    words.add(connection.credits_in_flight);
    words.add_due(connection.known);
    for (const auto* queue : {&connection.arriving, &connection.finishing}) {
      words.add(static_cast<std::int64_t>(queue->size()));
      for (std::size_t i = 0; i < queue->size(); ++i) words.add_message(queue->at(i));
    }
  }
  for (const QueuePair& pair : queue_pairs_) {
    for (std::int32_t index = pair.head; index != kNone; index = message(index).next) {
      words.add_message(index);
      append_waiting(words, message(index));
    }
    words.add_message(kNone);
  }
  if (node_.nic.queue_pair_rate > 0) {
    for (const QueuePair& pair : queue_pairs_) words.add_due(pair.next_request);
  }
  for (const Injector& injector : injectors_) {
    if (injector.out != kNoLink) append_injector(words, injector);
  }
  for (const CommunicationThread& thread : threads_) thread.append_state(words);
  for (std::size_t i = 0; i < copy_engines_.size(); ++i) {
    append_copies(words, static_cast<std::int32_t>(i));
  }
  // Parts mention what they are parts of.
  for (std::size_t i = 0; i < words.messages().size(); ++i) {
    append_message(words, message(words.messages()[i]));
  }
  GRADHAUL_ASSERT(words.messages().size() + free_messages_.size() == messages_.size(),
                  "no message is forgotten");
}

void PacketTransport::append_injector(StateWords& words, const Injector& injector) const {
  words.add(injector.buffered);
  if (injector.second_out != kNoLink) words.add(injector.port_buffered[0]);
  words.add_due(injector.next_message);
  words.add_time(injector.wake);
  words.add(injector.wants_tags);
  std::int64_t used = injector.tags_used;
  std::int64_t coming = 0;
  for (const Injector::TagReturn& tags : injector.tag_returns) {
    if (tags.time <= words.now()) {
      used -= tags.tags;
      continue;
    }
    words.add_time(tags.time);
    words.add(tags.tags);
    ++coming;
  }
  words.add(coming);
  words.add(used);
  words.add(static_cast<std::int64_t>(injector.active.size()));
  for (const std::int32_t pair : injector.active) words.add(pair);
}

// Of a message whose payload is not all asked for: what its wait will be put down to.
void PacketTransport::append_waiting(StateWords& words, const Message& waiting) const {
  const Path& path = path_of(waiting);
  const LinkId out = injectors_[static_cast<std::size_t>(path.injector)].out;
  const PacketEngine& engine = context_.engine;
  words.add_since(waiting.ready);
  if (out != kNoLink) {
    words.add(engine.backlog_total(out) - waiting.wire_backlog);
    words.add(engine.stall_total(out) - waiting.wire_stall);
  }
  append_backlogs(words, waiting, FlowKind::kCompletion);
}

void PacketTransport::append_backlogs(StateWords& words, const Message& waiting,
                                      FlowKind kind) const {
  const Path& path = path_of(waiting);
  const PacketEngine& engine = context_.engine;
  for (int i = 0; i < watched_links(path, kind); ++i) {
    words.add(engine.backlog_total(engine.link_of(path.flow(kind), i)) -
              waiting.read_backlog[static_cast<std::size_t>(i)]);
  }
}

void PacketTransport::append_copies(StateWords& words, std::int32_t number) const {
  const CopyEngine& engine = copy_engines_[static_cast<std::size_t>(number)];
  std::int64_t outstanding = engine.outstanding;
  for (const CopyEngine::Return& back : engine.returns) {
    if (back.time <= words.now()) outstanding -= back.bytes;
  }
  if (engine.waiting.empty() && outstanding == 0) return;
  words.add(number);
  words.add_time(engine.wake);
  words.add(outstanding);
  for (const CopyEngine::Return& back : engine.returns) {
    if (back.time <= words.now()) continue;
    words.add_time(back.time);
    words.add(back.bytes);
  }
  for (const std::int32_t index : engine.waiting) {
    words.add_message(index);
    words.add_since(message(index).ready);
    append_backlogs(words, message(index),
                    number % 2 == 1 ? FlowKind::kCopyIn : FlowKind::kCopyOut);
  }
}

void PacketTransport::append_message(StateWords& words, const Message& kept) const {
  words.add(kept.connection, kept.credit, kept.arrived, kept.finished, kept.holders, kept.amount,
            kept.data, kept.asked, kept.gathered, kept.sent, kept.copied_out, kept.copied,
            kept.post_turn, kept.arrival_turn, kept.done_turn, kept.to_flush, kept.admitted);
  words.add_message(kept.part_of);
  words.add(kept.parts_to_come, kept.parts_to_end);
  words.add_due(kept.parts_there);
  words.add_since(kept.posted);
  words.add_chain(kept.chain);
  if (kept.trace == kNone) return words.add(-1);
  const Trace& trace = context_.engine.trace(kept.trace);
  words.add(trace.count, trace.shift);
  for (int i = 0; i < trace.count; ++i) {
    const TracePart& part = trace.parts[static_cast<std::size_t>(i)];
    words.add(part.resource, static_cast<int>(part.cause), part.ps);
  }
}

}  // namespace gradhaul

// Turns on the communication threads of ranks (sim/communication_thread.h): where these cost time
// of their own, a post waits for its sender's thread, and a completion for the thread of whoever it
// is for. A message's event then comes twice, and what it means happens the second time.
//
// Without a turn, since nobody waits for them: completions of messages whose lines the receiver's
// kernel polls (LL, LL128), and those of credits at the end that posted them, which are not
// signalled.

#include "core/protocol.h"
#include "sim/packet_transport.h"

namespace gradhaul {

void PacketTransport::plan_turns(Message& posted) {
  const SimulatedConnection& connection = connection_of(posted);
  if (!threads_[static_cast<std::size_t>(connection.first_port)].costs().any()) return;
  const Path& path = path_of(posted);
  if (path.kind != PathKind::kNic || cores_) return;
  const bool polled = !posted.credit && polls_data(connection.protocol);
  posted.post_turn = true;
  posted.arrival_turn = !polled || path.staged_in;
  posted.done_turn = !posted.credit && !polled;
}

// Of the connection's ends, where data comes from or where it goes.
CommunicationThread& PacketTransport::thread_at(const Message& m, bool source) {
  const SimulatedConnection& connection = connection_of(m);
  const Rank rank =
      source ? connection.wires.sent_as.source : connection.wires.received_as.destination;
  return threads_[static_cast<std::size_t>(connection.first_port + rank)];
}

void PacketTransport::take_post_turn(std::int32_t index) {
  Message& posted = message(index);
  posted.post_turn = false;
  Trace& parts = context_.engine.trace(posted.trace);
  const std::int64_t now = context_.engine.now();
  CommunicationThread& thread = thread_at(posted, !posted.credit);
  if (!posted.credit) thread.ask_for_registration();
  post_to_nic(posted, thread.take(now, node_.nic.post * parts_of(posted), parts), index);
}

bool PacketTransport::took_arrival_turn(std::int32_t index) {
  Message& arrived = message(index);
  if (!arrived.arrival_turn) return false;
  arrived.arrival_turn = false;
  Trace& parts = context_.engine.trace(arrived.trace);
  const std::int64_t now = context_.engine.now();
  CommunicationThread& thread = thread_at(arrived, arrived.credit);
  const std::int64_t seen = thread.take(now, {}, parts);
  post_receive_again(index, seen);
  if (arrived.credit) {
    event_for(index, RunEvent::kCreditArrived, seen);
  } else if (path_of(arrived).staged_in) {
    start_copy(index, seen);
  } else if (arrived.to_flush) {
    // Posted at once; its completion is one more turn.
    arrived.arrival_turn = true;
    event_for(index, RunEvent::kDataArrived,
              flush(arrived, thread.take(seen, node_.nic.post, parts)));
  } else {
    tell_kernel(index, seen);
  }
  return true;
}

bool PacketTransport::took_done_turn(std::int32_t index) {
  Message& done = message(index);
  if (!done.done_turn) return false;
  done.done_turn = false;
  // Whoever waits for it counts all of its time as one.
  scratch_.count = 0;
  event_for(index, RunEvent::kDataDone,
            thread_at(done, true).take(context_.engine.now(), {}, scratch_));
  return true;
}

Duration PacketTransport::release(Rank port, Trace& parts) {
  if (threads_.empty()) return {};
  return threads_[static_cast<std::size_t>(port)].release(context_.engine.now(), parts);
}

std::vector<std::int64_t> PacketTransport::busy_threads() const {
  std::vector<std::int64_t> busy;
  for (const CommunicationThread& thread : threads_) {
    busy.push_back(thread.busy(context_.engine.now()));
  }
  return busy;
}

void PacketTransport::repeat(const std::vector<std::int64_t>& since, std::int64_t times) {
  for (std::size_t i = 0; i < since.size(); ++i) {
    threads_[i].add_busy((threads_[i].busy(context_.engine.now()) - since[i]) * times);
  }
}

}  // namespace gradhaul

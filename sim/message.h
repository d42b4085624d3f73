#pragma once

// What the simulated transport keeps of each posted write and of each connection.

#include <array>
#include <cstdint>

#include "core/bounded_queue.h"
#include "core/completion.h"
#include "sim/blame.h"
#include "sim/wiring.h"

namespace gradhaul {

struct SimulatedConnection {
  SimulatedConnection(const WiredConnection& wired, std::int32_t limit, Protocol lines)
      : wires(wired),
        protocol(lines),
        most_in_flight(limit),
        arriving(static_cast<std::size_t>(limit)),
        finishing(static_cast<std::size_t>(limit)) {}
  WiredConnection wires;
  Protocol protocol;
  std::int32_t most_in_flight;  // of each kind
  // What rank 0 is called as a port of the transport.
  Rank first_port = 0;
  // By which number the ranks at its ends know it.
  ConnectionId at_source = 0;
  ConnectionId at_destination = 0;
  std::int64_t writes = 0;
  std::int64_t known = 0;    // when the NIC knows of all writes that were posted (ps)
  std::int64_t payload = 0;  // posted
  std::int32_t credits_in_flight = 0;
  std::int32_t outstanding = 0;  // messages of both kinds that are still known
  // Data messages in the order of their posts: completions are delivered in that order, whatever
  // the queue pairs do.
  BoundedQueue<std::int32_t> arriving;
  BoundedQueue<std::int32_t> finishing;
};

struct Message {
  std::int32_t connection = kNone;
  bool credit = false;
  bool arrived = false;
  bool finished = false;
  std::int32_t holders = 0;     // events still to come for it
  std::int32_t amount = 0;      // bytes with the protocol's flags, or slots returned
  std::int32_t data = 0;        // bytes without flags
  std::int32_t next = kNone;    // behind it in its queue pair
  std::int32_t queue_pair = 0;  // among those of its path
  FlowId wire = kNone;          // by which it leaves the NIC
  std::int32_t asked = 0;       // payload asked for so far
  std::int32_t gathered = 0;    // payload in the NIC of the packet being put together
  std::int32_t sent = 0;        // payload handed to the wire
  // Of what is staged: in which copy it is, and how much of that has been asked for or has left.
  bool copied_out = false;
  std::int32_t copied = 0;
  // Which of its next events a communication thread (sim/communication_thread.h) must see first:
  // that it is posted, that it has come, that it is done.
  bool post_turn = false;
  bool arrival_turn = false;
  bool done_turn = false;
  bool admitted = false;  // the NIC has its contexts, and its queue pair's turn has come
  bool landing = false;   // its first packet has come
  bool to_flush = false;  // the receiver's NIC has still to read back
  std::int32_t trace = kNone;
  // Where packets may be lost (sim/queue_pair_recovery.h): the numbers of its packets; what was
  // asked for and is not wanted any more; whether its reads are awaited; whether the receiver has
  // all of it; and what losses had cost its queue pair when the NIC got to know of it.
  std::int32_t first_packet = 0;
  std::int32_t packets = 0;
  std::int32_t stale = 0;
  bool reading = false;
  bool landed = false;
  bool has_receive = false;  // and its completion has not been seen
  // Where the receiver keeps what comes early: how many of its packets have come; whether the trace
  // is away with the last of them; and of what stands for packets of another message that are sent
  // again, that message.
  std::int32_t come = 0;
  bool trace_away = false;
  std::int32_t repeats = kNone;
  std::int64_t resent_before = 0;
  std::int64_t timed_out_before = 0;
  std::int64_t not_ready_before = 0;
  // Of what goes by several queue pairs at once (sim/packet_parts.cpp): of a part, the message that
  // it is of; of that message, how many of its parts have not come, how many have not ended, and
  // when the last of those that have come was there.
  std::int32_t part_of = kNone;
  std::int32_t parts_to_come = 0;
  std::int32_t parts_to_end = 0;
  std::int64_t parts_there = -1;
  // TCP, in aggregates (sim/packet_tcp.cpp): given to the sender's cores, copied by them, known to
  // the NIC; in the receiver's host memory, given to its cores, copied by them. In bytes, what has
  // come to the receiving NIC and is in host memory. Since when its cores could have done all; and
  // whether an interrupt had to wake one for the last.
  std::int32_t dealt = 0;
  std::int32_t copied_by_core = 0;
  std::int32_t in_nic = 0;
  std::int32_t landed_aggregates = 0;
  std::int32_t taken = 0;
  std::int32_t received_by_core = 0;
  std::int32_t received = 0;
  std::int32_t written = 0;
  std::int64_t at_cores = 0;
  bool woke = false;
  ChainId chain = kNone;
  std::int64_t posted = 0;
  // When the NIC (or a copy engine) knew of it, and how long its wire and the links of the read
  // path (or of the copy) had been backed up by then: what the wait for its last packet is put down
  // to.
  std::int64_t ready = 0;
  // How long its queue pair was held back by its rate, and since when it has been.
  std::int64_t paced = 0;
  std::int64_t paced_since = -1;
  std::int64_t wire_backlog = 0;
  std::int64_t wire_stall = 0;
  static constexpr int kReadLinks = 12;
  std::array<std::int64_t, kReadLinks> read_backlog{};
};

}  // namespace gradhaul

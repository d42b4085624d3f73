// Writes in parts, one by each queue pair of their connection (core/write_parts.h).
//
// A message is one until its sender's thread has posted it, and again from when its last part lies
// in its receiver's memory, or has been acknowledged. In between NICs and network have messages of
// their own, one for each part, and know nothing of the whole. The thread writes their work
// requests one after the other, each a post of its own (NicModel::post); what else a post or a
// completion takes it (Communication::thread_step) it takes once for them all.
//
// Each part has an immediate and takes a receive, as NCCL has it, which is posted again as soon as
// its completion is there.

#include <algorithm>
#include <utility>

#include "core/write_parts.h"
#include "sim/packet_transport.h"
#include "sim/port_observation.h"

namespace gradhaul {

int PacketTransport::parts_of(const Message& posted) const {
  const Path& path = path_of(posted);
  if (!path.splits || posted.credit || posted.amount == 0 || cores_) return 1;
  return count_parts({posted.amount}, path.queue_pairs);
}

void PacketTransport::post_parts(std::int32_t index, int parts, std::int64_t from) {
  const std::int64_t each =
      part_length({message(index).amount}, path_of(message(index)).queue_pairs).count;
  message(index).parts_to_come = message(index).parts_to_end = parts;
  for (int number = 0; number < parts; ++number) {
    const std::int64_t offset = each * number;
    const std::int64_t length = std::min(each, message(index).amount - offset);
    const std::int32_t part = add_part(index, number, static_cast<std::int32_t>(length));
    if (context_.ports != nullptr) context_.ports->on_part(part, index, {offset}, {length});
    const Duration earlier = node_.nic.post * number;
    context_.engine.trace(message(part).trace).add(kNoResource, Cause::kDoorbell, earlier.ps);
    post_request(part, from + earlier.ps);
  }
}

std::int32_t PacketTransport::add_part(std::int32_t whole, std::int32_t queue_pair,
                                       std::int32_t length) {
  const std::int32_t index = take_message();
  const std::int32_t trace = context_.engine.add_trace();
  Message& part = message(index);
  Message& of = message(whole);
  part.connection = of.connection;
  part.queue_pair = queue_pair;
  part.amount = length;
  part.part_of = whole;
  part.holders = 2;  // its arrival there and its end here
  ++of.holders;
  ++connection_of(part).outstanding;
  part.chain = of.chain;
  context_.blame.hold(part.chain);
  part.posted = of.posted;
  part.trace = trace;
  context_.engine.trace(trace) = context_.engine.trace(of.trace);
  return index;
}

// The last packet of a message, or of a part of one, lies in memory from `delivered` on. True: now
// all of a message does; `last` and `delivered` are then the whole's. What the whole has met is
// what that part has which was there last.
bool PacketTransport::all_written(Packet& last, std::int64_t& delivered) {
  Message& part = message(last.message);
  if (part.part_of == kNone) return true;
  const std::int32_t index = part.part_of;
  Message& whole = message(index);
  if (part.has_receive) {
    const Path& path = path_of(part);
    const bool pcie = context_.engine.length(last.flow) > 0 && !path.staged_in;
    const Duration visible = pcie ? node_.gpu.write_latency : Duration{};
    const Duration seen = visible + node_.nic.completion + path.destination_detour;
    post_receive_again(last.message, delivered + seen.ps);
  }
  if (delivered > whole.parts_there) {
    std::swap(whole.trace, part.trace);
    std::swap(whole.chain, part.chain);
    std::swap(whole.posted, part.posted);
    whole.parts_there = delivered;
  }
  context_.engine.drop_trace(std::exchange(part.trace, kNone));
  const bool all = --whole.parts_to_come == 0;
  let_go(last.message);
  last.message = index;
  last.trace = message(index).trace;
  delivered = message(index).parts_there;
  return all;
}

// The message that has ended with this one, which may be a part; kNone: other parts have not.
std::int32_t PacketTransport::all_ended(std::int32_t index) {
  const std::int32_t whole = message(index).part_of;
  if (whole == kNone) return index;
  const bool all = --message(whole).parts_to_end == 0;
  let_go(index);
  return all ? whole : kNone;
}

}  // namespace gradhaul

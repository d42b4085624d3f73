#pragma once

// One connection with everything on its way idle: its messages one after the other through the
// stages of sim/packet_transport.h, with the same packets, reads, buffer and tags.

#include <cstdint>
#include <deque>
#include <optional>

#include "core/communication.h"
#include "core/placement.h"
#include "sim/fabric.h"
#include "sim/idle_copy.h"
#include "sim/idle_route.h"
#include "sim/idle_sockets.h"
#include "sim/trace_parts.h"

namespace gradhaul {

// Of communication threads: Communication::thread_step, blue_flame and flush.
struct PostingCosts {
  Duration thread_step;
  Bytes blue_flame;
  Flush flush = Flush::kOff;
};

// Who posts what is sent, and where it lies.
struct WriteEnds {
  // Kernels, which tell threads of the host and are told by them; else these threads alone.
  bool kernels = true;
  // In the memory of the host: as what is staged (core/gpudirect.h), but without the copies. Writes
  // of up to kInlineBytes then come with their work request (core/inline_write.h).
  bool host_memory = false;
};

class IdleConnection {
 public:
  // Throws SimulationError where there is no path.
  IdleConnection(const Fabric& fabric, int ranks_per_node, const Hop& hop,
                 Protocol protocol = Protocol::kSimple, const PostingCosts& posting = {},
                 WriteEnds ends = {});

  // The next data message, flags of its lines included, posted at `posted`: when the receiver's
  // kernel may read it, or its thread where there are no kernels.
  std::int64_t send(Bytes size, std::int64_t posted = 0);
  // When the sender knows that the last one is written.
  std::int64_t done() const { return done_; }
  // Instead of data: the credit for a slot, posted at 0 and travelling this way; when it may be
  // used.
  std::int64_t credit();
  // Where the time of a first message went that took `arrived`: latencies, each where the packet
  // model puts it, and the rest to the link that has been busy longest.
  Trace parts(std::int64_t arrived) const;

 private:
  struct Held {
    std::int64_t until;
    std::int64_t amount;
  };
  bool by_nic() const { return hop_.source_nic >= 0; }
  void make_routes(const Fabric& fabric, int from, int to, int reading, int destination);
  void make_copies(const Fabric& fabric, int from, int to, int reading, int destination);
  Duration until_completed() const { return node_.nic.completion + destination_detour_; }
  Duration until_flag() const {
    return ends_.kernels ? node_.gpu.flag_latency + source_detour_ : Duration{};
  }
  bool copies_out() const { return hop_.staged_out && !ends_.host_memory; }
  bool copies_in() const { return hop_.staged_in && !ends_.host_memory; }
  Duration until_fetched(std::int64_t size) const;
  bool inlined(std::int64_t size) const;
  bool blue_flame(std::int64_t size) const;
  std::int64_t post(std::int64_t size, std::int64_t told);
  std::int64_t complete(std::int64_t from);
  std::int64_t told_at(std::int64_t there);
  std::int64_t flushed(std::int64_t seen);
  std::int64_t send_to_peer(std::int64_t size);
  std::int64_t send_through_host(std::int64_t size);
  std::int64_t copy_in(std::int64_t size, std::int64_t from);
  void add_software_parts(Trace& trace) const;
  void add_memory_parts(Trace& trace) const;
  std::int64_t send_by_nic(std::int64_t size, std::int64_t ready);
  std::int64_t send_by_tcp(std::int64_t size, std::int64_t ready);
  std::int64_t ask_time(std::int64_t payload, std::int64_t requests, std::int64_t now);
  std::int64_t fetch(std::int64_t payload);
  std::int64_t receive(const IdleRoute::Train& packet, std::int64_t ready, bool last);

  const Node& node_;
  Hop hop_;
  Protocol protocol_;
  PostingCosts posting_;
  WriteEnds ends_;
  bool free_control_;  // the ideal network: credits and acknowledgements cost nothing
  IdleRoute peer_;
  IdleRoute relay_;
  IdleRoute request_;
  IdleRoute completion_;
  IdleRoute wire_;
  IdleRoute write_;
  IdleRoute back_;  // of acknowledgements
  IdleCopy out_;    // of what is staged
  IdleCopy in_;
  std::optional<IdleSockets> tcp_;
  ResourceId receiving_core_ = kNoResource;
  Duration reading_;
  Duration flush_;  // 0: none
  Duration source_detour_;
  Duration destination_detour_;
  ResourceId source_socket_link_ = kNoResource;
  ResourceId destination_socket_link_ = kNoResource;
  std::int64_t packet_payload_ = 0;
  std::int64_t buffer_ = 0;
  std::int64_t asked_ = 0;  // when payload was last asked for
  std::int64_t next_message_ = 0;
  std::int64_t buffered_ = 0;
  std::deque<Held> leaving_;
  std::int64_t tags_used_ = 0;
  std::deque<Held> tag_returns_;
  std::int64_t done_ = 0;
  // When the threads at both ends can do the next thing.
  std::int64_t sender_free_ = 0;
  std::int64_t receiver_free_ = 0;
  std::int64_t posted_ = 0;  // size of the last message
};

}  // namespace gradhaul

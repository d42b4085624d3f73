#pragma once

// A reliable connection's queue pair on its way RESET -> INIT -> RTR -> RTS [IBTA vol. 1, 10.3.1],
// and what each state is told. Each throws VerbsError where the device refuses, with what was set
// and what to check.

#include <cstdint>

#include "backends/verbs/connection_record.h"
#include "backends/verbs/rdma_rail.h"

namespace gradhaul {

// Where one queue pair leads.
struct QueuePairPath {
  RailRecord peer;  // the peer's port
  QueuePairRecord peer_queue_pair;
  std::uint32_t packet_number = 0;  // this end's first, 24 bits
  ibv_mtu mtu = IBV_MTU_1024;       // the smaller of both ends'
};

// What a peer has to know of a port.
RailRecord record_of(const RdmaRail& rail);
// The smaller of both ends' active MTUs, and of the settings'.
ibv_mtu path_mtu(const RdmaRail& rail, const RailRecord& peer, const VerbsSettings& settings);
// Why these two ports can't be joined, from what is known of both: link layers, versions of RoCE or
// families of addresses that differ, partitions apart. Empty: nothing speaks against it.
std::string mismatch(const RdmaRail& rail, const RailRecord& peer);

// `access`: what the peer may do to this rank's memory.
void to_init(VerbsLibrary& verbs, ibv_qp* qp, const RdmaRail& rail, const VerbsSettings& settings,
             unsigned access = IBV_ACCESS_REMOTE_WRITE);
void to_ready_to_receive(VerbsLibrary& verbs, ibv_qp* qp, const RdmaRail& rail,
                         const VerbsSettings& settings, const QueuePairPath& path);
void to_ready_to_send(VerbsLibrary& verbs, ibv_qp* qp, const RdmaRail& rail,
                      const VerbsSettings& settings, const QueuePairPath& path);
// What is posted comes back flushed; nothing is sent or received any more.
void to_error(VerbsLibrary& verbs, ibv_qp* qp);

}  // namespace gradhaul

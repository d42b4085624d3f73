#pragma once

// Profiles `nccl-2.22` and `nccl-2.30`: a plan as NCCL would have it. Its tuner chooses algorithm,
// protocol and channels for each size; a ring's Simple chunk is four of its eight buffer steps of
// 512 KiB, of which two at a time go on the wire: four slots of 1 MiB (src/include/collectives.h,
// NCCL_STEPS). LL and LL128 send single steps (core/protocol.h).

#include <string_view>

#include "core/cluster.h"
#include "core/nccl_tuner.h"
#include "core/protocol.h"

namespace gradhaul {

constexpr bool is_nccl_profile(std::string_view profile) { return profile.starts_with("nccl-"); }

constexpr int nccl_slots(Protocol protocol) { return protocol == Protocol::kSimple ? 4 : 8; }
constexpr Bytes nccl_slot_size(Protocol protocol) {
  return protocol == Protocol::kSimple ? Bytes{1024 * 1024} : usual_slot_size(protocol);
}

// send_recv and all_to_all are sends and receives to NCCL, which chooses nothing of them: Simple
// chunks of a step each go through eight slots (NCCL_STEPS), of 128 KiB, or of 512 KiB where NVLink
// joins all ranks (NCCL_P2P_NET_CHUNKSIZE, _PCI_, _NVL_). That small ones go by LL is left out.
inline constexpr int kNcclPeerSlots = 8;
Bytes nccl_peer_slot_size(const Cluster& cluster);

// Channels between two ranks [NCCL, ncclTopoGetNchannels and ncclTopoComputeP2pChannels in
// src/graph/paths.cc]: two to a peer on another node, or one where that makes more than four
// operations to a channel; within the node two for each link of NVLink, but no more than there are.
// All peers have as many as the one with the fewest. Ranks are taken to need one NIC each. Requires
// a GPU whose compute capability is known.
int nccl_peer_channels(const Cluster& cluster, NcclVersion version);

// Whether what NCCL estimates is what `asked` leaves to choose, and is modelled here.
bool is_plan_for(const NcclEstimate& estimate, const Communication& asked);

// `asked` with what NCCL chose; channels, slots and slot size that were asked for stay. Requires
// is_plan_for().
Communication nccl_plan(const Communication& asked, const NcclEstimate& estimate);

}  // namespace gradhaul

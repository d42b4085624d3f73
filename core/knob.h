#pragma once

// What of a cluster or of a plan can be changed so that a collective takes less time. analysis/
// says which of them a critical path points at, scenarios/ which keys they are.

#include <cstdint>

namespace gradhaul {

enum class Knob : std::uint8_t {
  kNetworkRate,     // all links of the network, and the ports of the NICs
  kMtu,             // the payload of a packet
  kMoreUplinks,     // of the leaves: links to the spines
  kNetworkBuffer,   // credits of the network: receive buffers of ports
  kSwitchLatency,   // of the network's switches
  kCables,          // their length
  kNicLatency,      // a packet's way through the sending and the receiving NIC
  kDevicePcie,      // the PCIe links of GPUs and NICs
  kPcieUplink,      // the uplinks of PCIe switches
  kMaxPayload,      // of a PCIe packet
  kPcieCredits,     // of posted writes
  kPcieHopLatency,  // of PCIe switches and links
  kRootComplexLatency,
  kReadRoom,         // how much a NIC may have asked for: tags, transmit buffer
  kRootComplexRate,  // peer-to-peer through it
  kSocketLinkRate,   // and what passes it from peer to peer
  kSocketLinkLatency,
  kNvlinkRate,
  kNvlinkLatency,
  kGpuMemoryRate,
  kGpuMemoryLatency,  // from a NIC's request to the GPU's answer, and of its writes
  kReduceRate,        // one channel's kernel
  kChannels,          // one more of each NIC
  kPosting,           // post, doorbell, fetching the work request
  kCompletion,
  kFlags,         // host and kernel telling each other
  kLaunch,        // of the collective's kernel
  kSlots,         // receive slots of a connection
  kLargerSlots,   // twice the size
  kSmallerSlots,  // half the size
  kFaults,        // all of them mended
  kGpuDirect,     // instead of staging through host memory
  kAcs,           // off
  kIommu,         // off
  kRelaxedOrdering,
  kHostMemoryRate,   // of each socket
  kCopySetup,        // of copies between GPU and host memory
  kRegisterOnce,     // instead of for each transfer
  kPageSize,         // of registered memory: the largest
  kPolling,          // instead of sleeping until an interrupt
  kThreadPlacement,  // at the sockets of the GPUs that they serve
  kThreadStep,       // what posts and completions take a communication thread
  kBlueFlame,        // work requests written with the doorbell
  kNoFlush,          // kernels are told without a read back by the NIC
  kContextCache,     // of NICs: room for all queue pairs and memory regions in use
  kQueuePairRate,    // of NICs: work requests of one queue pair
  kLossless,         // Ethernet that pauses in time, in place of dropping
  kRingWay,          // over a ring of leaves, the shorter of both
  kAdaptiveRouting,  // a way for each packet, in place of one for all
  kPlacement,        // NICs that place what comes out of order, in place of asking for it again
  kReceives,         // as many as there are slots
  kSelectiveRepeat,  // what is missing is sent again, and not what is behind it
  kRdma,             // instead of TCP
  kTcpCores,         // that carry TCP, and its sockets
  kQueuePairs,       // of a connection, each of which takes its own way or port
  kRing,             // instead of a parameter server
  kLines,            // flags among the data (LL) instead of completions
  kSlices,           // of chunks, in place of chunks sent whole
};

}  // namespace gradhaul

#pragma once

// Whether a NIC reads and writes a GPU's memory itself (GPUDirect RDMA), or data is staged: copied
// between GPU and pinned host memory by the GPU's copy engines, where the NIC reads and writes it.
//
// `auto` is NCCL's policy (ncclTopoCheckGdr in src/graph/paths.cc, with NCCL_NET_GDR_LEVEL at its
// default): direct where GPU and NIC have no root complex between them (PIX, PXB), staged beyond
// (PHB, SYS); and reads, which are what a sender does, only of GPUs of compute capability 8.0 or
// more, or with an NVLink peer, or alone in their node. Where data leaves by the NIC of another GPU
// (PXN), that GPU is the one that counts.

#include <cstdint>
#include <string>
#include <vector>

#include "core/pcie_distance.h"

namespace gradhaul {

enum class GpuDirect : std::uint8_t { kOn, kOff, kAuto };

// The transfers between one GPU and one NIC.
struct GpuDirectUse {
  bool reads = true;   // by the NIC, of what is sent
  bool writes = true;  // by the NIC, of what is received
  friend bool operator==(const GpuDirectUse&, const GpuDirectUse&) = default;
};

// `gpus`: of the node. A compute capability of 0 is not known, and taken for a recent one.
GpuDirectUse nccl_gpudirect(PcieDistance distance, int compute_capability, bool nvlink, int gpus);

// For all pairs of a node's devices. Without PCIe nothing is in the way of any. Requires a checked
// node.
class GpuDirectPairs {
 public:
  GpuDirectPairs() = default;  // all direct
  GpuDirectPairs(const Node& node, GpuDirect setting);

  GpuDirectUse of(int gpu, int nic) const {
    return uses_.empty() ? GpuDirectUse{} : uses_[static_cast<std::size_t>(gpu * nics_ + nic)];
  }

 private:
  int nics_ = 0;
  std::vector<GpuDirectUse> uses_;  // by GPU, then NIC; none: all are direct
};

// Whether two GPUs of a node reach each other through host memory alone: without NVLink, at sockets
// that pass no peer-to-peer. Requires a checked node.
bool peers_are_staged(const Node& node, int gpu, int other);

// What a user should know of it, of the first `gpus` GPUs and the NICs nearest to each: who is
// staged, and why. None where all is direct.
std::vector<std::string> gpudirect_notes(const Node& node, GpuDirect setting, int gpus);

}  // namespace gradhaul

#pragma once

// How far apart two devices of a node are over PCIe: what they must cross to reach each other. The
// classes are those that `nvidia-smi topo` and NCCL tell apart (PIX, PXB, PHB, SYS).

#include <cstdint>
#include <string>
#include <vector>

#include "core/cluster.h"

namespace gradhaul {

enum class PcieDistance : std::uint8_t {
  kNothing,       // a node without PCIe: the GPU and its NIC are one
  kSameSwitch,    // below the same switch
  kSameRootPort,  // several switches, but no root complex
  kSameSocket,    // the root complex of one socket
  kOtherSocket,   // the socket link
};

// The distances between all devices of a node, looked up once. Requires a checked node: every
// device hangs below some socket, and switches form trees.
class PcieDistances {
 public:
  explicit PcieDistances(const Node& node);

  PcieDistance gpu_to_nic(int gpu, int nic) const;
  PcieDistance gpu_to_gpu(int left, int right) const;

  // Those at the least distance, ascending; of GPUs only 0 .. gpus - 1 count.
  std::vector<int> nearest_nics(int gpu) const;
  std::vector<int> nearest_gpus(int nic, int gpus) const;

 private:
  // From a device up: its switches, the nearest first, by their places in Node::pcie; and then its
  // socket N as -1 - N.
  using Path = std::vector<int>;
  static Path path_up(const Node& node, const std::string& device);
  static PcieDistance between(const Path& left, const Path& right);

  int nics_;
  bool without_pcie_;
  std::vector<Path> gpu_paths_;
  std::vector<Path> nic_paths_;
};

}  // namespace gradhaul

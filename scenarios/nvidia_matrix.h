#pragma once

// The matrix of `nvidia-smi topo -m`, of every release: the head names GPUs, NICs (NICn, or by name
// in older ones) and affinities; then one row a device.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/config_error.h"

namespace gradhaul {

// What lies between two devices, as its legend says; SOC of old releases is SYS.
enum class NvidiaDistance : std::uint8_t {
  kSelf,    // X
  kPix,     // at most one PCIe bridge
  kPxb,     // several, no host bridge
  kPhb,     // a host bridge
  kNode,    // several host bridges of a NUMA node
  kSys,     // what joins NUMA nodes
  kNvlink,  // NVn: n links; what PCIe would be is not told
};

struct NvidiaRelation {
  NvidiaDistance distance = NvidiaDistance::kSelf;
  int links = 0;  // of kNvlink
};

struct NvidiaMatrix {
  struct Device {
    std::string name;   // as the head has it
    std::string alias;  // "mlx5_0", by its legend of NICs; empty: none
    std::string numa;   // its affinity, as it is written; empty: not told
    bool gpu = false;
    int line = 0;  // of its row
  };
  std::vector<Device> devices;
  std::vector<std::vector<NvidiaRelation>> of;  // [row][column]
};

// Reports what is wrong with the file, and gives nothing then.
std::optional<NvidiaMatrix> read_nvidia_matrix(const std::string& lines, const std::string& file,
                                               Problems& problems);

std::string_view name_of(NvidiaDistance distance);

}  // namespace gradhaul

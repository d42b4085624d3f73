#pragma once

// NCCL's tuner: by what it chooses algorithm, protocol and channels for each size, and the time it
// expects. Formulas of src/graph/tuning.cc, and of src/enqueue.cc for channels, of v2.22.3-1 and
// v2.30; constants in core/nccl_constants.h, the graphs it starts from in core/nccl_graph.h.
//
//   time = latency + size / bandwidth
//
//   ring   latency   base + (steps - s) max(intra, post) + s inter
//                    steps: 2 (n - 1) for all_reduce, n - 1 for reduce_scatter and all_gather; s of
//                    them go between nodes; post: of a network send, 1 us (2 us on AMD), three
//                    times that in Simple; x 1.4 in Simple between nodes for all but small sizes
//          bandwidth channels x speed, less what flags take, x n / steps
//   tree   latency   base + 2 ((n / nodes - 1) intra + floor(log2 nodes) inter)
//          bandwidth half of channels x speed, less what kernels and flags take, less a correction
//                    by size
//   nvls, nvlstree   reductions inside NVSwitch, in one node and in several
//
// Known weaknesses: no contention, no shared PCIe, no cost for each NIC; its numbers are for
// choosing, not for predicting. SHARP (CollNet) is left out: NCCL takes it only with a plugin.

#include <string_view>
#include <vector>

#include "core/communication.h"
#include "core/nccl_graph.h"
#include "core/nccl_version.h"
#include "core/workload.h"

namespace gradhaul {

// In the order in which NCCL weighs them: the first of equals is taken.
enum class NcclAlgorithm : std::uint8_t { kTree, kRing, kNvls, kNvlsTree, kPat };

// As in result files and in `compare`: "double_binary_tree", "ring", "nvls", "nvlstree", "pat".
std::string_view nccl_algorithm_name(NcclAlgorithm algorithm);
// Those that reduce inside switches, which this program does not simulate.
constexpr bool reduces_in_switches(NcclAlgorithm algorithm) {
  return algorithm == NcclAlgorithm::kNvls || algorithm == NcclAlgorithm::kNvlsTree;
}

// What NCCL would be asked, in its terms.
struct NcclRun {
  NcclVersion version = NcclVersion::k2_30;
  Collective collective = Collective::kAllReduce;
  DataType datatype = DataType::kFp32;
  Reduction reduction = Reduction::kSum;
  int nodes = 1;
  int ranks = 2;
  int compute_capability = 90;
  CpuVendor cpu = CpuVendor::kOther;
  NcclGraphs graphs;
};

// Requires a GPU whose compute capability is known.
NcclRun nccl_run(const Cluster& cluster, const Workload& workload, NcclVersion version);

// all_reduce, reduce_scatter, all_gather, broadcast: others are sends and receives to NCCL.
bool nccl_tunes(Collective collective);

struct NcclEstimate {
  NcclAlgorithm algorithm = NcclAlgorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  double latency_us = 0;
  double bandwidth = 0;  // GB/s of algbw
  Duration time;
  int channels = 0;  // thread blocks, at most
};

class NcclTuner {
 public:
  explicit NcclTuner(const NcclRun& run);

  // All that NCCL has for the collective, the fastest first. `size` as nccl-tests counts it.
  std::vector<NcclEstimate> estimates(Bytes size) const;

 private:
  void add(NcclAlgorithm algorithm, Protocol protocol, double latency_us, double bandwidth);
  void add_tree();
  void add_ring();
  void add_nvls();
  void add_nvls_tree();
  void add_pat();
  double channel_speed(const NcclGraph& graph) const;
  double ring_latency(Protocol protocol) const;
  double network_latency(NcclAlgorithm algorithm, Protocol protocol) const;
  bool has_ll128() const;
  bool has_nvls() const;
  int channels_for(const NcclEstimate& estimate, Bytes size) const;

  NcclRun run_;
  std::size_t generation_;
  std::size_t scale_;
  int steps_;                        // of a ring
  std::vector<NcclEstimate> known_;  // but for what depends on the size
};

}  // namespace gradhaul

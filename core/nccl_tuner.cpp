#include "core/nccl_tuner.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "core/assert.h"
#include "core/nccl_constants.h"

namespace gradhaul {
namespace {

constexpr std::array kProtocols{Protocol::kLl, Protocol::kLl128, Protocol::kSimple};
constexpr int kNvlsChannels = 16;  // NCCL_NVLS_NCHANNELS

// Into columns of protocols.
std::size_t column(Protocol protocol) {
  return protocol == Protocol::kSimple ? 2 : protocol == Protocol::kLl128 ? 1 : 0;
}

std::size_t generation_of(int capability) {
  if (capability >= 100) return 3;
  if (capability >= 90) return 2;
  return capability >= 80 ? 1 : 0;
}

int floor_log2(std::int64_t number) {
  return static_cast<int>(
             std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(number, 0)))) -
         1;
}

int ring_steps(Collective collective, int ranks) {
  if (collective == Collective::kAllReduce) return 2 * (ranks - 1);
  return collective == Collective::kBroadcast ? ranks : ranks - 1;
}

const NcclLatencies& latencies_of(const NcclConstants& constants, NcclAlgorithm algorithm) {
  switch (algorithm) {
    case NcclAlgorithm::kTree:
      return constants.tree;
    case NcclAlgorithm::kRing:
      return constants.ring;
    case NcclAlgorithm::kNvls:
      return constants.nvls;
    case NcclAlgorithm::kNvlsTree:
      return constants.nvls_tree;
    case NcclAlgorithm::kPat:
      break;
  }
  return constants.pat;
}

// By size: the tuner's correction for trees.
double tree_share(Protocol protocol, Bytes size) {
  const int octave = floor_log2(size.count >> 6);
  const auto& shares = kTreeShares[column(protocol)];
  if (octave < 0 || octave >= static_cast<int>(shares.size())) return 1;
  return shares[static_cast<std::size_t>(octave)];
}

}  // namespace

std::string_view nccl_algorithm_name(NcclAlgorithm algorithm) {
  constexpr std::array<std::string_view, 5> kNames{"double_binary_tree", "ring", "nvls", "nvlstree",
                                                   "pat"};
  return kNames[static_cast<std::size_t>(algorithm)];
}

bool nccl_tunes(Collective collective) {
  return collective != Collective::kAllToAll && collective != Collective::kSendRecv;
}

NcclRun nccl_run(const Cluster& cluster, const Workload& workload, NcclVersion version) {
  NcclRun run;
  run.version = version;
  run.collective = workload.collective;
  run.datatype = workload.datatype;
  run.reduction = workload.reduction;
  run.nodes = cluster.nodes;
  run.ranks = cluster.ranks();
  run.compute_capability = cluster.node.gpu.compute_capability;
  run.cpu = cluster.node.cpu;
  run.graphs = find_nccl_graphs(cluster, version);
  return run;
}

NcclTuner::NcclTuner(const NcclRun& run)
    : run_(run),
      generation_(generation_of(run.compute_capability)),
      scale_(static_cast<std::size_t>(std::min(run.nodes, 3) - 1)),
      steps_(ring_steps(run.collective, run.ranks)) {
  GRADHAUL_ASSERT(nccl_tunes(run.collective), "NCCL has no choice for this collective");
  GRADHAUL_ASSERT(run.ranks >= 2 && run.nodes >= 1, "a collective has several ranks");
  if (run.collective == Collective::kAllReduce) add_tree();
  add_ring();
  if (has_nvls()) add_nvls();
  if (has_nvls() && run.collective == Collective::kAllReduce) add_nvls_tree();
  add_pat();
}

void NcclTuner::add(NcclAlgorithm algorithm, Protocol protocol, double latency_us,
                    double bandwidth) {
  if (protocol == Protocol::kLl128 && !has_ll128()) return;
  NcclEstimate& estimate = known_.emplace_back();
  estimate.algorithm = algorithm;
  estimate.protocol = protocol;
  estimate.latency_us = latency_us;
  estimate.bandwidth = bandwidth;
}

double NcclTuner::channel_speed(const NcclGraph& graph) const {
  return run_.nodes <= 2 ? graph.intra : graph.inter;
}

// With one GPU a node nothing hides the network's latency, and 2.30 takes the tree's.
double NcclTuner::network_latency(NcclAlgorithm algorithm, Protocol protocol) const {
  const NcclConstants& constants = nccl_constants(run_.version);
  const bool exposed = run_.version != NcclVersion::k2_22 && run_.ranks == run_.nodes;
  const NcclLatencies& latencies = exposed ? constants.tree : latencies_of(constants, algorithm);
  return latencies.network[column(protocol)];
}

// Lines of 128 B are written whole on NVLink and below PCIe switches.
bool NcclTuner::has_ll128() const {
  const int capability = run_.compute_capability;
  if (!run_.graphs.whole_lines || capability < 70) return false;
  if (run_.version != NcclVersion::k2_22) return true;
  return capability == 70 || capability == 80 || capability == 90;
}

// NVSwitch reduces sums, of integers and 16-bit floats also the least and the greatest.
bool NcclTuner::has_nvls() const {
  if (run_.graphs.nvls.channels < 2 || run_.collective == Collective::kBroadcast) return false;
  // Across nodes these would need SHARP in the network.
  if (run_.collective != Collective::kAllReduce) return run_.nodes == 1;
  if (run_.reduction == Reduction::kAvg) return false;
  return run_.reduction == Reduction::kSum || run_.datatype != DataType::kFp32;
}

void NcclTuner::add_tree() {
  const NcclConstants& constants = nccl_constants(run_.version);
  const NcclGraph& graph = run_.graphs.tree;
  const std::size_t cpu_row = run_.cpu == CpuVendor::kAmd ? 1 : 0;
  const double ll_most = constants.ll_most[run_.nodes == 1 ? generation_ : cpu_row][scale_];
  for (const Protocol protocol : kProtocols) {
    const std::size_t p = column(protocol);
    double bus = std::min(graph.channels * channel_speed(graph) * 0.92,
                          graph.channels * constants.tree_most[generation_][scale_]);
    if (protocol == Protocol::kLl) bus = std::min(bus / 3.8, ll_most);
    if (protocol == Protocol::kLl128) {
      bus = std::min(bus * (run_.nodes == 1 ? 7.0 / 9 : 120.0 / 128),
                     graph.channels * constants.tree_ll128_most[generation_][scale_]);
    }
    if (run_.graphs.plain_tree) bus *= 0.85;
    const double intra = run_.graphs.nvlink ? constants.tree.nvlink[p] : constants.tree.pcie[p];
    const double inter = network_latency(NcclAlgorithm::kTree, protocol);
    const int chain = run_.ranks / run_.nodes - 1;
    add(NcclAlgorithm::kTree, protocol,
        constants.tree.base[p] + 2 * (chain * intra + floor_log2(run_.nodes) * inter), bus / 2);
  }
}

double NcclTuner::ring_latency(Protocol protocol) const {
  const NcclConstants& constants = nccl_constants(run_.version);
  const std::size_t p = column(protocol);
  double intra = run_.graphs.nvlink ? constants.ring.nvlink[p] : constants.ring.pcie[p];
  if (run_.collective == Collective::kBroadcast) {
    // Within a node all channels are the same ring, which is not waited for.
    if (run_.nodes == 1) return constants.ring.base[p] + intra;
    const NcclLatencies& hop = protocol == Protocol::kSimple ? constants.tree : constants.ring;
    return constants.ring.base[p] + steps_ * hop.network[p];
  }
  int between = 0;
  if (run_.nodes > 1) {
    const double post = run_.cpu == CpuVendor::kAmd ? 2 : 1;
    intra = std::max(intra, protocol == Protocol::kSimple ? 3 * post : post);
    between = run_.nodes - 1;
    if (run_.collective == Collective::kAllReduce) {
      between = 2 * (run_.version == NcclVersion::k2_22 ? run_.nodes : run_.nodes - 1);
    }
  }
  return constants.ring.base[p] + (steps_ - between) * intra +
         between * network_latency(NcclAlgorithm::kRing, protocol);
}

void NcclTuner::add_ring() {
  const NcclConstants& constants = nccl_constants(run_.version);
  const NcclGraph& graph = run_.graphs.ring;
  const std::size_t cpu_row = run_.cpu == CpuVendor::kAmd ? 1 : 0;
  const double ll_most = constants.ll_most[run_.nodes == 1 ? generation_ : cpu_row][scale_];
  const bool alone = run_.version == NcclVersion::k2_22 && run_.ranks < 2 * run_.nodes;
  for (const Protocol protocol : kProtocols) {
    double bus = graph.channels * channel_speed(graph);
    if (protocol == Protocol::kLl) bus = std::min(ll_most, bus / 2);
    if (protocol == Protocol::kLl128) {
      bus = std::min(bus * (alone ? 0.7 : 0.92),
                     graph.channels * constants.ring_ll128_most[generation_][scale_]);
    }
    add(NcclAlgorithm::kRing, protocol, ring_latency(protocol), bus * run_.ranks / steps_);
  }
}

void NcclTuner::add_nvls() {
  if (run_.nodes > 1) return;
  const NcclConstants& constants = nccl_constants(run_.version);
  const NcclGraph& graph = run_.graphs.nvls;
  double algbw = 0;
  if (run_.version == NcclVersion::k2_22) {
    algbw = graph.channels * std::min(graph.intra, graph.inter) * 5 / 6;
  } else {
    const double own =
        graph.intra * constants.nvls_shares[generation_] * (graph.channels - 1) / graph.channels;
    const bool two = run_.collective == Collective::kAllReduce;  // up and down at once
    const double intra = two ? own * 2 : own * (run_.ranks - 1) / run_.ranks;
    const double bus = graph.channels * std::min(intra, graph.inter);
    algbw = two ? bus * run_.ranks / steps_ : bus;
  }
  add(NcclAlgorithm::kNvls, Protocol::kSimple, constants.nvls.nvlink[2], algbw);
}

void NcclTuner::add_nvls_tree() {
  if (run_.nodes == 1) return;
  const NcclConstants& constants = nccl_constants(run_.version);
  const NcclGraph& graph = run_.graphs.nvls;
  const bool two = run_.nodes == 2;
  double algbw = 0;
  if (run_.version == NcclVersion::k2_22) {
    const double speed = std::min(graph.intra, two ? graph.inter : graph.inter / 2);
    algbw = graph.channels * speed * 5 / 6;
  } else {
    const double intra = graph.intra * constants.nvls_shares[generation_] * (graph.channels - 1) /
                         graph.channels * 2;
    const double most = constants.nvls_tree_most[generation_][scale_];
    const double speed = std::min({intra, two ? 2 * graph.inter : graph.inter, most});
    algbw = graph.channels * speed * run_.ranks / steps_;
  }
  const double latency =
      constants.nvls_tree.base[2] + constants.nvls_tree.nvlink[2] +
      2 * floor_log2(run_.nodes) * network_latency(NcclAlgorithm::kNvlsTree, Protocol::kSimple);
  add(NcclAlgorithm::kNvlsTree, Protocol::kSimple, latency, algbw);
}

// Since 2.23, with one GPU a node.
void NcclTuner::add_pat() {
  const bool has =
      run_.collective == Collective::kReduceScatter || run_.collective == Collective::kAllGather;
  if (!has || run_.version == NcclVersion::k2_22 || run_.ranks != run_.nodes) return;
  const NcclConstants& constants = nccl_constants(run_.version);
  const NcclGraph& graph = run_.graphs.tree;
  const double latency =
      constants.pat.base[2] +
      floor_log2(run_.nodes) * network_latency(NcclAlgorithm::kPat, Protocol::kSimple) / 3.5 +
      run_.ranks * 2.8;
  add(NcclAlgorithm::kPat, Protocol::kSimple, latency,
      graph.channels * channel_speed(graph) * 0.75);
}

// Fewer where threads would have less than their least to do.
int NcclTuner::channels_for(const NcclEstimate& estimate, Bytes size) const {
  if (reduces_in_switches(estimate.algorithm)) return kNvlsChannels;
  constexpr OfProtocols kThreads{512, 640, 512};
  constexpr OfProtocols kBytesOfThread{8, 8, 64};
  const std::size_t p = column(estimate.protocol);
  double threads = kThreads[p];
  double bytes = kBytesOfThread[p];
  if (estimate.algorithm == NcclAlgorithm::kRing) {
    const NcclGraph& graph = run_.graphs.ring;
    const bool slow = graph.intra * graph.channels <= 12;
    if (estimate.protocol == Protocol::kSimple && slow) threads = 256;
    if (estimate.protocol == Protocol::kLl) bytes *= run_.ranks;
  }
  int channels = run_.graphs.compute_channels;
  const auto whole = static_cast<double>(size.count);
  while (channels >= 2 && whole < channels * threads * bytes) --channels;
  return channels;
}

std::vector<NcclEstimate> NcclTuner::estimates(Bytes size) const {
  std::vector<NcclEstimate> all = known_;
  for (NcclEstimate& estimate : all) {
    double latency = estimate.latency_us;
    double bandwidth = estimate.bandwidth;
    if (estimate.algorithm == NcclAlgorithm::kTree) {
      bandwidth *= tree_share(estimate.protocol, size);
    }
    const std::int64_t shares = std::int64_t{run_.graphs.compute_channels} * run_.ranks;
    const bool plateau = estimate.algorithm == NcclAlgorithm::kRing &&
                         estimate.protocol == Protocol::kSimple && run_.nodes > 1 &&
                         run_.collective == Collective::kAllReduce && size.count / shares >= 64;
    if (plateau) latency *= run_.compute_capability < 80 ? 1.9 : 1.4;
    const double us = latency + static_cast<double>(size.count) / (1000 * bandwidth);
    estimate.latency_us = latency;
    estimate.bandwidth = bandwidth;
    estimate.time = {std::llround(us * 1e6)};
    estimate.channels = channels_for(estimate, size);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const NcclEstimate& a, const NcclEstimate& b) { return a.time < b.time; });
  return all;
}

}  // namespace gradhaul

#include "core/nccl_graph.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>
#include <span>

#include "core/assert.h"
#include "core/nic_rate.h"
#include "core/pcie_distance.h"

namespace gradhaul {
namespace {

constexpr int kMostChannels = 64;                         // MAXCHANNELS
constexpr int kMostSearchedChannels = kMostChannels / 2;  // each gets two thread blocks
constexpr double kNoLimit = 5000;                         // GB/s, LOC_BW
constexpr double kIntelPeerCost = 1.2;                    // of PCIe bytes through its root complex
// Slower channels than this share of those found are not tried any more.
constexpr double kSlowestShare = 0.49;

// Speeds that the search tries, the fastest first (src/graph/search.cc).
using Speeds = std::span<const double>;
constexpr std::array kWithin{40., 30., 20., 18., 15., 12., 10., 9., 7., 6., 5., 4., 3.};
constexpr std::array kBetween{48., 30., 28., 24., 20., 18., 15., 12., 10., 9.,
                              7.,  6.,  5.,  4.,  3.,  2.4, 1.2, .24, .12};
constexpr std::array kWithinHopper{60., 50., 40., 30., 24., 20., 15., 12., 11., 6., 3.};
constexpr std::array kBetweenHopper{48., 45., 42., 40., 30., 24., 22., 20., 17.5,
                                    15., 12., 6.,  3.,  2.4, 1.2, .24, .12};
constexpr std::array kWithinBlackwell{90., 80., 70., 60., 50., 45., 40., 30., 24., 20., 19., 18.};
constexpr std::array kBetweenBlackwell{96., 86.,  80., 48., 45.1, 42., 40., 30., 24., 22.,
                                       20., 17.5, 15., 12., 6.,   3.,  2.4, 1.2, .24, .12};

double gigabytes(BitRate rate) {
  if (rate.unlimited()) return kNoLimit;
  return std::min(kNoLimit, static_cast<double>(rate.bits_per_second) / 8e9);
}

double gigabytes(const std::optional<PcieLink>& link) {
  if (!link) return kNoLimit;
  constexpr std::array kOfSixteenLanes{3., 6., 12., 24., 48., 96.};
  const auto generation = static_cast<std::size_t>(link->generation - 1);
  return kOfSixteenLanes[std::min(generation, kOfSixteenLanes.size() - 1)] * link->lanes / 16;
}

// How many channels of `speed` fit into `room`.
int fitting(double room, double speed) {
  return static_cast<int>(std::min<double>(kMostSearchedChannels, std::floor(room / speed + 1e-6)));
}

class GraphSearch {
 public:
  GraphSearch(const Cluster& cluster, NcclVersion version)
      : cluster_(cluster),
        version_(version),
        gpus_(cluster.ranks_per_node),
        distances_(cluster.node) {
    const Node& node = cluster.node;
    gpu_pcie_ = gigabytes(node.gpu.pcie);
    if (node.nvlink && gpus_ > 1) {
      nvlink_ = gigabytes(node.nvlink->bandwidth) * node.nvlink->efficiency;
    }
    if (between_nodes()) look_at_nics();
  }

  NcclGraphs find() const {
    NcclGraphs graphs;
    graphs.nvlink = nvlink_ > 0;
    graphs.ring = ring();
    graphs.tree = tree(graphs.ring);
    graphs.nvls = nvls();
    graphs.plain_tree =
        gpus_ == 1 || (capability() >= 90 && between_nodes() && most_gpus_of_nic_ < 2);
    graphs.whole_lines = (gpus_ == 1 || graphs.nvlink) && farthest_ <= PcieDistance::kSameRootPort;
    graphs.compute_channels =
        std::min(kMostChannels, 2 * std::min(graphs.ring.channels, graphs.tree.channels));
    if (capability() >= 90 && between_nodes() && graphs.ring.intra > 45 &&
        graphs.compute_channels < 16) {
      graphs.compute_channels *= 2;
    }
    return graphs;
  }

 private:
  using Room = std::function<int(double speed)>;

  bool between_nodes() const { return cluster_.nodes > 1; }
  int capability() const { return cluster_.node.gpu.compute_capability; }

  void look_at_nics() {
    const Node& node = cluster_.node;
    net_ = gigabytes(nic_rate(cluster_));
    nic_pcie_ = gigabytes(node.nic.pcie);
    std::set<int> near;
    for (int nic = 0; nic < node.nic_count; ++nic) {
      const std::vector<int> gpus = distances_.nearest_gpus(nic, gpus_);
      near.insert(gpus.begin(), gpus.end());
      most_gpus_of_nic_ = std::max(most_gpus_of_nic_, static_cast<int>(gpus.size()));
      farthest_ = std::max(farthest_, distances_.gpu_to_nic(gpus.front(), nic));
    }
    near_gpus_ = static_cast<int>(near.size());
  }

  Speeds speeds() const {
    if (capability() >= 100 && version_ != NcclVersion::k2_22) {
      return between_nodes() ? Speeds(kBetweenBlackwell) : Speeds(kWithinBlackwell);
    }
    if (capability() >= 90) return between_nodes() ? Speeds(kBetweenHopper) : Speeds(kWithinHopper);
    return between_nodes() ? Speeds(kBetween) : Speeds(kWithin);
  }

  // Of one channel.
  double fastest() const {
    if (between_nodes()) return std::min({net_, nic_pcie_, gpu_pcie_});
    return nvlink_ > 0 ? nvlink_ : gpu_pcie_;
  }
  // Of a GPU.
  double total() const { return std::max(nvlink_, gpu_pcie_); }

  double through_root_complex(double speed, PcieDistance distance) const {
    const bool costs =
        distance == PcieDistance::kSameSocket && cluster_.node.cpu == CpuVendor::kIntel;
    return costs ? speed * kIntelPeerCost : speed;
  }

  int room_between(double speed) const {
    if (!between_nodes()) return kMostSearchedChannels;
    // The search takes whole GB/s off a NIC.
    const int by_wire = fitting(net_, speed < 1 ? speed : std::floor(speed));
    const double on_pcie = through_root_complex(speed, farthest_);
    const int nics = std::min(by_wire, fitting(nic_pcie_, on_pcie)) * cluster_.node.nic_count;
    return std::min(nics, fitting(gpu_pcie_, on_pcie) * near_gpus_);
  }

  // A channel that leaves the node at a GPU does not go on over that one's NVLink; which one it is
  // differs from channel to channel.
  int room_within(double speed) const {
    if (gpus_ == 1) return kMostSearchedChannels;
    if (nvlink_ > 0) {
      return fitting(between_nodes() ? nvlink_ * gpus_ / (gpus_ - 1) : nvlink_, speed);
    }
    PcieDistance farthest = PcieDistance::kNothing;
    for (int gpu = 1; gpu < gpus_; ++gpu) {
      farthest = std::max(farthest, distances_.gpu_to_gpu(gpu - 1, gpu));
    }
    int room = fitting(gpu_pcie_, through_root_complex(speed, farthest));
    if (farthest == PcieDistance::kOtherSocket) {
      const BitRate across = cluster_.node.root_complex.peer_to_peer_across_sockets;
      const BitRate link = cluster_.node.socket_link.bandwidth;
      const double carried = gigabytes(across.bits_per_second > 0 ? std::min(across, link) : link);
      room = std::min(room, fitting(carried, speed));
    }
    return room;
  }

  struct Found {
    int channels = 0;
    double speed = 0;
    double bus() const { return channels * speed; }
  };
  Found search(double total, int least, int most, const Room& room) const {
    const Speeds list = speeds();
    std::size_t i = 0;
    while (i + 1 < list.size() && (list[i] > fastest() || list[i] * least > total)) ++i;
    Found best;
    for (; i < list.size(); ++i) {
      if (best.channels > 0 && list[i] / best.speed <= kSlowestShare) break;
      const int channels = std::min(room(list[i]), most);
      if (channels >= least && channels * list[i] > best.bus()) best = {channels, list[i]};
      if (best.channels == most || best.bus() >= total) break;
    }
    return best;
  }

  NcclGraph ring() const {
    const Room room = [this](double speed) {
      return std::min(room_between(speed), room_within(speed));
    };
    Found found = search(total(), 1, kMostSearchedChannels, room);
    if (found.channels == 0) return {1, 0.1, 0.1};
    // Fast channels are doubled, at half the speed.
    const bool few = found.speed >= 50 || found.channels <= 4;
    if (found.speed >= 25 && (capability() <= 80 || few)) {
      const int twice = std::min(2 * found.channels, kMostSearchedChannels);
      if (twice > found.channels) found.speed /= 2;
      found.channels = twice;
    }
    return {found.channels, found.speed, found.speed};
  }

  // As many channels as the ring has.
  NcclGraph tree(const NcclGraph& ring) const {
    const double enough = gpus_ > 1 ? total() * gpus_ / (gpus_ - 1) : total();
    const Room room = [this](double speed) {
      return std::min(room_between(speed), room_within(speed));
    };
    const Found found = search(enough, ring.channels, ring.channels, room);
    if (found.channels == 0) return {1, 0.1, 0.1};
    NcclGraph tree{found.channels, found.speed, found.speed};
    // Within the node up to twice as fast as between nodes, if there is room.
    const Speeds list = speeds();
    auto faster = std::find(list.begin(), list.end(), found.speed);
    while (faster != list.begin() && tree.intra < 2 * tree.inter) {
      --faster;
      if (room_within(*faster) < tree.channels) break;
      tree.intra = *faster;
    }
    return tree;
  }

  // A head for each channel: the GPU that reduces its part, by way of NVSwitch. Each channel passes
  // every GPU's NVLink once, its head's twice.
  NcclGraph nvls() const {
    if (nvlink_ == 0 || capability() < 90 || gpus_ < 3) return {};
    const Speeds list = speeds();
    const int most = between_nodes() ? std::min(gpus_, near_gpus_) : gpus_;
    const int least = between_nodes() ? 1 : most;
    Found best;
    std::size_t at = 0;
    for (std::size_t i = 0; i < list.size() && best.channels < most; ++i) {
      if (list[i] > fastest()) continue;
      if (best.channels > 0 && list[i] / best.speed <= kSlowestShare) break;
      const int room = std::min({room_between(list[i]), fitting(nvlink_, list[i]) - 1, most});
      if (room < least) continue;
      if (room > best.channels || room * list[i] > best.bus()) {
        best = {room, list[i]};
        at = i;
      }
    }
    if (best.channels == 0) return {};
    NcclGraph graph{best.channels, best.speed, best.speed};
    while (at > 0 && graph.inter < 2 * graph.intra) {
      const double faster = list[--at];
      if (between_nodes() && (faster > fastest() || room_between(faster) < graph.channels)) break;
      graph.inter = faster;
    }
    return graph;
  }

  const Cluster& cluster_;
  NcclVersion version_;
  int gpus_;  // of a node that take part
  PcieDistances distances_;
  double gpu_pcie_ = 0;
  double nic_pcie_ = 0;
  double nvlink_ = 0;  // 0: there is none, or nobody to reach by it
  double net_ = 0;
  int near_gpus_ = 0;                               // that are nearest to a NIC
  int most_gpus_of_nic_ = 0;                        // nearest to one
  PcieDistance farthest_ = PcieDistance::kNothing;  // from a NIC to its nearest GPU
};

}  // namespace

NcclGraphs find_nccl_graphs(const Cluster& cluster, NcclVersion version) {
  GRADHAUL_ASSERT(cluster.node.gpu.compute_capability > 0, "NCCL's search depends on the GPU");
  return GraphSearch(cluster, version).find();
}

}  // namespace gradhaul

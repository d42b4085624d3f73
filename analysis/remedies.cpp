#include "analysis/remedies.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/capacity.h"
#include "analysis/resource_group.h"
#include "core/gpudirect.h"
#include "core/infiniband_framing.h"
#include "core/network_framing.h"
#include "core/packet_loss.h"
#include "core/pcie_framing.h"
#include "core/receive_queue.h"

namespace gradhaul {
namespace {

constexpr double kWorthTrying = 1e-3;
constexpr std::int64_t kLargestMtu = 4096;
constexpr std::int64_t kLargestPayload = 4096;
constexpr Bytes kLargePage{2 << 20};
constexpr Bytes kLargeChunk{1 << 20};

// What the path spends, in ps, by cause and kind of resource.
class PathTimes {
 public:
  PathTimes(const ResultRow& row, const std::vector<ResourceUse>& resources) {
    std::map<std::string_view, std::string> kinds;
    for (const ResourceUse& use : resources) kinds[use.name] = use.kind;
    for (const TimePart& part : row.parts) {
      const auto kind = kinds.find(part.resource);
      times_[{part.cause, kind == kinds.end() ? "" : kind->second}] +=
          static_cast<double>(part.time.ps);
    }
  }

  double at(const std::string& cause, const std::string& kind) const {
    const auto found = times_.find({cause, kind});
    return found == times_.end() ? 0 : found->second;
  }
  double busy(const std::string& kind) const { return at("busy", kind); }
  double all(const std::string& kind) const {
    double sum = 0;
    for (const auto& [key, ps] : times_) sum += key.second == kind ? ps : 0;
    return sum;
  }
  double of(const std::string& cause) const {
    double sum = 0;
    for (const auto& [key, ps] : times_) sum += key.first == cause ? ps : 0;
    return sum;
  }

 private:
  std::map<std::pair<std::string, std::string>, double> times_;
};

double share_of(Duration part, Duration whole) {
  return whole.ps > 0 ? static_cast<double>(part.ps) / static_cast<double>(whole.ps) : 0;
}

// Of a train of packets, the part that packets of another payload save.
double headers_saved(double overhead, double payload, double larger) {
  return 1 - (1 + overhead / larger) / (1 + overhead / payload);
}

class Reckoning {
 public:
  Reckoning(const Prediction& prediction, const Cluster& cluster,
            const Communication& communication)
      : row_(prediction.rows.back()),
        path_(row_, prediction.resources),
        cluster_(cluster),
        communication_(communication),
        limiting_(limiting_kind(row_, prediction.resources)) {
    for (const PortCounters& port : prediction.counters) {
      longest_stall_ = std::max(longest_stall_, static_cast<double>(port.out_of_credits.ps));
    }
  }

  std::vector<Remedy> remedies() {
    // Worth knowing however much of the path it shows on.
    if (!cluster_.faults.empty()) {
      found_.push_back({Knob::kFaults, static_cast<double>(row_.time.ps), true});
    }
    if (cluster_.network.drops() || headroom_is_short(cluster_.network)) {
      found_.push_back(
          {Knob::kLossless, path_.of("retransmission") + path_.of("ACK timeout"), true});
    }
    other_plans();
    host_path();
    recovery();
    network();
    pcie();
    node();
    software();
    slots();
    std::stable_sort(found_.begin(), found_.end(), [](const Found& a, const Found& b) {
      return std::pair(a.limiting, a.ps) > std::pair(b.limiting, b.ps);
    });
    std::vector<Remedy> result;
    for (const Found& found : found_) {
      result.push_back({found.knob, {static_cast<std::int64_t>(found.ps)}});
    }
    return result;
  }

 private:
  struct Found {
    Knob knob;
    double ps;
    bool limiting;
  };

  static std::string limiting_kind(const ResultRow& row,
                                   const std::vector<ResourceUse>& resources) {
    const std::string name(first_name(row.limited_by));
    if (name == "slots") return name;
    return std::string(kind_of(name, resources));
  }

  void offer(Knob knob, double ps, std::string_view kind = "") {
    const bool limiting = !kind.empty() && kind == limiting_;
    if (!limiting && ps < kWorthTrying * static_cast<double>(row_.time.ps)) return;
    found_.push_back({knob, ps, limiting});
  }

  void network() {
    const Network& network = cluster_.network;
    const double wires = path_.busy("nic") + path_.busy("network");
    if (cluster_.node.bonded_nics) {
      offer(Knob::kQueuePairs, path_.busy("nic") / 2, "nic");
    } else if (network.routing == Routing::kEcmp && network.topology.leaves > 1) {
      offer(Knob::kQueuePairs, path_.busy("network") / 2, "network");
    }
    offer(Knob::kNetworkRate, wires / 2, limiting_ == "network" ? "" : "nic");
    offer(Knob::kMoreUplinks, path_.busy("network") / 2, "network");
    const bool rdma =
        network.kind == NetworkKind::kInfiniband || network.kind == NetworkKind::kRoce;
    if (rdma && !network.tcp && network.mtu.count < kLargestMtu) {
      const auto mtu = static_cast<double>(network.mtu.count);
      const auto overhead = static_cast<double>(packet_overhead(network).count);
      offer(Knob::kMtu, wires * headers_saved(overhead, mtu, kLargestMtu));
    }
    const double credits = path_.at("credits", "nic") + path_.at("credits", "network");
    offer(Knob::kNetworkBuffer, std::max(credits, longest_stall_) / 2);
    wire_latency();
  }

  // What takes no other cluster. A chunk that travels whole is reduced when all of it is there.
  void other_plans() {
    const double wires = path_.busy("nic") + path_.busy("network");
    const double reducing = path_.busy("reduce");
    if (communication_.algorithm == Algorithm::kParameterServer) {
      found_.push_back({Knob::kRing, wires + reducing, true});
    }
    const std::int64_t chunk = row_.size.count / std::max(row_.channels * row_.ranks, 1);
    if (communication_.slot_size.count >= chunk && chunk > kLargeChunk.count) {
      found_.push_back({Knob::kSlices, std::min(wires, reducing), true});
    }
    if (limiting_.empty() && communication_.protocol == Protocol::kSimple &&
        !communication_.choose_protocol && !cluster_.network.tcp) {
      // Of flags and turns of threads those at the receiver's.
      offer(Knob::kLines, path_.of("completion") + path_.of("kernel and host flags") / 2 +
                              path_.of("communication thread") / 2);
    }
  }

  // What packets cost that are sent again, and ways that meet while others stand idle.
  void recovery() {
    const NicModel& nic = cluster_.node.nic;
    if (posted_receives(communication_) < communication_.slots) {
      offer(Knob::kReceives, path_.of("no receive posted"));
    }
    const double again = path_.of("retransmission");
    const bool spread = spreads_packets(cluster_);
    if (spread && nic.out_of_order == OutOfOrder::kNak) {
      offer(Knob::kPlacement, again + path_.of("taken for lost") + path_.of("ACK timeout"));
    } else if (may_lose_packets(cluster_) && !spread &&
               nic.retransmission == Retransmission::kGoBackN) {
      offer(Knob::kSelectiveRepeat, again);
    }
    const Topology& topology = cluster_.network.topology;
    const bool ring = topology.kind == TopologyKind::kRing;
    const double crowded = path_.busy("network") + path_.at("credits", "network");
    if (ring && topology.way != RingWay::kShortest) {
      offer(Knob::kRingWay, crowded, "network");
    } else if (!spread && !ring && topology.leaves > 1 && topology.uplinks_per_leaf > 1) {
      offer(Knob::kAdaptiveRouting, crowded, "network");
    }
  }

  // What sends data round by the host, each worth knowing as faults are.
  void host_path() {
    const PcieSettings& settings = cluster_.node.pcie_settings;
    const double uplinks = path_.busy("pcie_uplink");
    const double sockets = path_.busy("socket") + path_.busy("socket_link");
    const double copies = path_.of("starting copies");
    if (cluster_.network.tcp) {
      const double cores = path_.busy("thread");
      const double wakes = path_.of("interrupt and wake-up");
      found_.push_back({Knob::kRdma, cores + wakes + copies + sockets, true});
      offer(Knob::kTcpCores, cores / 2, "thread");
    } else if (stages()) {
      const double twice = (path_.busy("pcie") + uplinks) / 2;
      found_.push_back({Knob::kGpuDirect, copies + sockets + path_.all("iommu") + twice, true});
    }
    if (settings.acs) {
      const double detour = path_.at("latency", "pcie_uplink") + path_.at("latency", "socket");
      found_.push_back({Knob::kAcs, uplinks + sockets + detour, true});
    }
    if (settings.iommu) {
      found_.push_back({Knob::kIommu, path_.all("iommu"), true});
    }
    if (!settings.relaxed_ordering) {
      found_.push_back({Knob::kRelaxedOrdering, path_.busy("ordered_writes"), true});
    }
    // A fault of one node is told of as such.
    if (cluster_.threads.at != ThreadPlacement::At::kGpu) {
      found_.push_back({Knob::kThreadPlacement, path_.at("latency", "socket_link"), true});
    }
    offer(Knob::kHostMemoryRate, path_.busy("socket") / 2, stages() ? "socket" : "");
    offer(Knob::kCopySetup, copies / 2);
  }

  bool stages() const { return stages_data(cluster_, communication_); }

  // The part of an uplink's time that more credits for reads of host memory would save.
  double short_of_credits() const {
    double most = 0;
    if (!stages()) return most;
    for (const PcieBranch& branch : cluster_.node.pcie) {
      if (branch.switch_name.empty() || !branch.link) continue;
      const HostReads reads = host_reads_through(cluster_.node, *branch.link);
      most = std::max(most, 1 - reads.by_credits / reads.by_link);
    }
    return most;
  }

  // Each stage's share of it, as on a way through one switch.
  void wire_latency() {
    const double latency = path_.at("latency", "nic") + path_.at("latency", "network");
    const Network& network = cluster_.network;
    const NicModel& nic = cluster_.node.nic;
    const bool direct = network.topology.kind == TopologyKind::kBackToBack;
    const Duration forwarding = direct ? Duration{} : network.switch_latency;
    const Duration cables = cable_latency(network.node_cable_metres) * (direct ? 1 : 2);
    const Duration nics = nic.transmit_latency + nic.receive_latency;
    const Duration all = forwarding + cables + nics;
    offer(Knob::kSwitchLatency, latency * share_of(forwarding, all) / 2);
    offer(Knob::kCables, latency * share_of(cables, all) / 2);
    offer(Knob::kNicLatency, latency * share_of(nics, all) / 2);
  }

  void pcie() {
    const double devices = path_.busy("pcie");
    const double uplinks = path_.busy("pcie_uplink");
    offer(Knob::kDevicePcie, devices / 2, "pcie");
    offer(Knob::kPcieUplink, uplinks / 2, "pcie_uplink");
    const std::int64_t payload = cluster_.node.pcie_settings.max_payload.count;
    if (payload < kLargestPayload) {
      const auto overhead = static_cast<double>(kPostedOverhead.count);
      const auto bytes = static_cast<double>(payload);
      offer(Knob::kMaxPayload, (devices + uplinks) * headers_saved(overhead, bytes, 2 * bytes));
    }
    offer(Knob::kPcieCredits,
          (path_.at("credits", "pcie") + path_.at("credits", "pcie_uplink")) / 2 +
              uplinks * short_of_credits());
    const double hops = path_.at("latency", "pcie") + path_.at("latency", "pcie_uplink");
    // Whoever goes up from a switch passes a root complex.
    const bool through_root = path_.all("pcie_uplink") + path_.all("socket") > 0;
    offer(through_root ? Knob::kRootComplexLatency : Knob::kPcieHopLatency, hops / 2);
    offer(Knob::kReadRoom, path_.of("reads outstanding") / 2);
    offer(Knob::kRootComplexRate, path_.busy("socket") / 2, "socket");
    offer(Knob::kSocketLinkRate, path_.busy("socket_link") / 2, "socket_link");
    offer(Knob::kSocketLinkLatency, path_.at("latency", "socket_link") / 2);
  }

  void node() {
    offer(Knob::kNvlinkRate, path_.busy("nvlink") / 2, "nvlink");
    offer(Knob::kNvlinkLatency, path_.at("latency", "nvlink") / 2);
    offer(Knob::kGpuMemoryRate, path_.busy("memory") / 2, "memory");
    // Reads that take half as long leave room for as many more.
    offer(Knob::kGpuMemoryLatency, path_.at("latency", "") / 2 + path_.of("reads outstanding") / 4);
    const double reducing = path_.busy("reduce");
    offer(Knob::kReduceRate, reducing / 2, "reduce");
    const double nics = std::max(cluster_.node.nic_count, 1);
    offer(Knob::kChannels, reducing * nics / (row_.channels + nics));
  }

  void software() {
    offer(Knob::kPosting, path_.of("post and doorbell") / 2);
    offer(Knob::kCompletion, path_.of("completion") / 2);
    offer(Knob::kFlags, path_.of("kernel and host flags") / 2);
    offer(Knob::kLaunch, path_.of("kernel launch") / 2);
    const double registering = path_.of("registering memory");
    offer(Knob::kRegisterOnce, registering);
    if (communication_.registration.page < kLargePage) offer(Knob::kPageSize, registering / 2);
    if (!cluster_.network.tcp) offer(Knob::kPolling, path_.of("interrupt and wake-up"));
    offer(Knob::kNoFlush, path_.of("flush"));
    offer(Knob::kContextCache, path_.of("context misses"));
    offer(Knob::kQueuePairRate, path_.of("queue pair rate") / 2);
    offer(Knob::kThreadStep, path_.of("communication thread") / 2);
    if (communication_.blue_flame.count == 0 && !cluster_.network.tcp) {
      const NicModel& nic = cluster_.node.nic;
      offer(Knob::kBlueFlame, path_.of("post and doorbell") *
                                  share_of(nic.wqe_fetch, nic.post + nic.doorbell + nic.wqe_fetch));
    }
  }

  void slots() {
    const double waiting = path_.of("slot credits");
    const std::int64_t chunk = row_.size.count / std::max(row_.channels * row_.ranks, 1);
    const std::int64_t slot = communication_.slot_size.count;
    // More slices than slots: with more of them on the way at once, less of the way is waited for.
    const bool few = chunk / slot > communication_.slots;
    const double on_the_way = few && limiting_.empty() ? path_.of("latency") : 0;
    offer(Knob::kSlots, (waiting + on_the_way) / 2, "slots");
    // A chunk that fits into one slot travels as one slice, however large the slot.
    if (slot < chunk) {
      const double each_slice = path_.of("post and doorbell") + path_.of("completion") +
                                path_.of("communication thread") +
                                path_.of("interrupt and wake-up") +
                                path_.of("kernel and host flags") + waiting;
      offer(Knob::kLargerSlots, each_slice / 2);
    }
    // What does not limit is on the path while the pipeline of slices fills.
    if (slot < 2 * chunk && !limiting_.empty() && limiting_ != "slots") {
      offer(Knob::kSmallerSlots, (path_.of("busy") - path_.busy(limiting_)) / 2);
    }
  }

  const ResultRow& row_;
  PathTimes path_;
  const Cluster& cluster_;
  const Communication& communication_;
  double longest_stall_ = 0;  // of a port, in ps
  std::string limiting_;      // kind, or "slots"; empty: latency
  std::vector<Found> found_;
};

}  // namespace

bool stages_data(const Cluster& cluster, const Communication& communication) {
  return cluster.nodes > 1 &&
         !gpudirect_notes(cluster.node, communication.gpudirect, cluster.ranks_per_node).empty();
}

std::vector<Remedy> remedies(const Prediction& prediction, const Cluster& cluster,
                             const Communication& communication) {
  return Reckoning(prediction, cluster, communication).remedies();
}

}  // namespace gradhaul

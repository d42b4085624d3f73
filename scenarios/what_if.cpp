#include "scenarios/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "core/infiniband_framing.h"
#include "core/pcie_distance.h"
#include "core/pcie_framing.h"
#include "scenarios/device_reader.h"
#include "scenarios/knob_quantity.h"
#include "scenarios/plan_what_if.h"
#include "scenarios/recovery_what_if.h"
#include "scenarios/thread_what_if.h"

namespace gradhaul {
namespace {

constexpr int kLatestPcie = 6;
constexpr int kWidestPcie = 16;
constexpr const char* kNode = "cluster.node.";
constexpr const char* kGpu = "cluster.node.gpus.model.";
constexpr const char* kNic = "cluster.node.nics.model.";
constexpr const char* kNetwork = "cluster.network.";
constexpr const char* kSettings = "cluster.node.pcie_settings.";
constexpr const char* kRoot = "cluster.node.root_complex.";

class Turning {
 public:
  Turning(Knob knob, const Scenario& scenario, int channels)
      : scenario_(scenario), cluster_(scenario.cluster), channels_(channels) {
    result_.knob = knob;
  }

  WhatIf turn() {
    turn_network() || turn_pcie() || turn_node() || turn_host_path() || turn_plan();
    if (!result_.settings.empty()) {
      result_.obstacle.clear();
    } else if (result_.obstacle.empty()) {
      result_.obstacle = "it costs nothing here, or has no limit";
    }
    return result_;
  }

 private:
  void set(std::string_view folder, std::string_view key, const std::string& value) {
    result_.settings.push_back(fmt::format("{}{}={}", folder, key, value));
  }
  void say(std::string text) { result_.change = std::move(text); }
  void cannot(std::string why) {
    result_.settings.clear();
    result_.obstacle = std::move(why);
  }
  // "X of 2 instead of 1"
  void say_instead(std::string_view what, const std::string& now, const std::string& before) {
    say(fmt::format("{} of {} instead of {}", what, now, before));
  }

  void set_doubled(std::string_view folder, std::string_view key, BitRate rate) {
    if (finite(rate)) set(folder, key, byte_rate(doubled(rate)));
  }
  void say_doubled(std::string_view what, BitRate rate) {
    if (finite(rate)) return say_instead(what, byte_rate(doubled(rate)), byte_rate(rate));
    say(fmt::format("{} twice as fast", what));
  }
  void set_halved(std::string_view folder, std::string_view key, Duration time) {
    if (time.ps > 0) set(folder, key, format_duration({time.ps / 2}));
  }

  bool turn_network() {
    const Network& network = cluster_.network;
    switch (result_.knob) {
      case Knob::kNetworkRate:
        turn_network_rate();
        return true;
      case Knob::kMtu:
        say_instead("packets", "4096B", fmt::format("{}B", network.mtu.count));
        if (network.kind == NetworkKind::kRoce) set(kNetwork, "port_mtu", "9000B");
        set(kNetwork, "mtu", "4096B");
        return true;
      case Knob::kNetworkBuffer:
        turn_network_buffer();
        return true;
      case Knob::kSwitchLatency:
        say("network switches that forward in half the time");
        set_halved(kNetwork, "switch.latency", network.switch_latency);
        return true;
      case Knob::kCables:
        say("network cables half as long");
        if (network.node_cable_metres > 0) {
          set(kNetwork, "cables.node", metres(network.node_cable_metres / 2));
        }
        if (network.spine_cable_metres > 0) {
          set(kNetwork, "cables.spine", metres(network.spine_cable_metres / 2));
        }
        return true;
      case Knob::kNicLatency:
        say("NICs that send and receive with half the delay");
        set_halved(kNic, "transmit_latency", cluster_.node.nic.transmit_latency);
        set_halved(kNic, "receive_latency", cluster_.node.nic.receive_latency);
        return true;
      default:
        return false;
    }
  }

  // The NIC's port comes along where it would be too slow; its PCIe link stays.
  void turn_network_rate() {
    const BitRate link = cluster_.network.link;
    const BitRate port = cluster_.node.nic.rate;
    const bool ports = !port.unlimited() && port < doubled(link);
    const std::string faster = format_rate(doubled(link));
    say_instead(ports ? "network links and NIC ports" : "network links", faster, format_rate(link));
    set(kNetwork, "link", faster);
    if (ports) set(kNic, "rate", faster);
  }

  void turn_network_buffer() {
    say("receive buffers of network ports, and so credits, twice as large");
    static constexpr std::int64_t kMost = kMaxCreditBlocks * kCreditBlockBytes;
    const Bytes port = cluster_.network.vl_buffer;
    const Bytes nic = cluster_.node.nic.receive_buffer;
    if (port.count >= kMost) {
      cannot(fmt::format("InfiniBand lets a port promise no more than {} of room",
                         format_bytes({kMost})));
      return;
    }
    const auto twice = [](Bytes size) { return format_bytes({std::min(2 * size.count, kMost)}); };
    if (port.count > 0) set(kNetwork, "switch.vl_buffer", twice(port));
    if (nic.count > 0) set(kNic, "receive_buffer", twice(nic));
  }

  bool turn_pcie() {
    const RootComplex& root = cluster_.node.root_complex;
    const PcieSettings& settings = cluster_.node.pcie_settings;
    switch (result_.knob) {
      case Knob::kDevicePcie:
        turn_device_links();
        return true;
      case Knob::kPcieUplink:
        turn_uplinks_of_switches();
        return true;
      case Knob::kMaxPayload:
        say_instead("PCIe packets", fmt::format("{}B", 2 * settings.max_payload.count),
                    fmt::format("{}B", settings.max_payload.count));
        set(kSettings, "max_payload", fmt::format("{}B", 2 * settings.max_payload.count));
        return true;
      case Knob::kPcieCredits:
        say("PCIe receivers with twice the room (credits) for what comes to them");
        set(kSettings, "posted_header_credits",
            fmt::format("{}", 2 * settings.posted_header_credits));
        set(kSettings, "posted_data_credits", fmt::format("{}", 2 * settings.posted_data_credits));
        return true;
      case Knob::kPcieHopLatency:
        say("PCIe links and switches with half the delay");
        cannot(
            fmt::format("a PCIe switch takes {} and a link {}, constants with no key of their own",
                        format_duration(kPcieSwitchLatency), format_duration(kPcieLinkLatency)));
        return true;
      case Knob::kRootComplexLatency:
        say("CPU sockets that pass on PCIe packets in half the time");
        set_halved(kRoot, "latency", root.latency);
        return true;
      case Knob::kReadRoom:
        say("NICs that read twice as much ahead (PCIe tags, transmit buffer)");
        set(kSettings, "tags", fmt::format("{}", 2 * settings.tags));
        if (cluster_.node.nic.transmit_buffer.count > 0) {
          set(kNic, "transmit_buffer", format_bytes(cluster_.node.nic.transmit_buffer * 2));
        }
        return true;
      case Knob::kRootComplexRate:
        say("CPU sockets that pass data between PCIe devices twice as fast");
        set_doubled(kRoot, "peer_to_peer_read", root.peer_to_peer_read);
        set_doubled(kRoot, "peer_to_peer_write", root.peer_to_peer_write);
        return true;
      case Knob::kSocketLinkRate:
        say("a link between the CPU sockets, and peer-to-peer across it, twice as fast");
        set_doubled(kNode, "socket_link.bandwidth", cluster_.node.socket_link.bandwidth);
        set_doubled(kRoot, "peer_to_peer_across_sockets", root.peer_to_peer_across_sockets);
        return true;
      case Knob::kSocketLinkLatency:
        say("a link between the CPU sockets with half the delay");
        set_halved(kNode, "socket_link.latency", cluster_.node.socket_link.latency);
        return true;
      default:
        return false;
    }
  }

  // One generation on, or else twice the lanes.
  static std::optional<PcieLink> wider(PcieLink link) {
    if (link.generation < kLatestPcie) return PcieLink{link.generation + 1, link.lanes};
    if (link.lanes < kWidestPcie) return PcieLink{link.generation, 2 * link.lanes};
    return std::nullopt;
  }

  void set_wider(std::string_view folder, std::string_view key, PcieLink link) {
    if (const auto next = wider(link)) {
      set(folder, key, format_pcie_link(*next));
      if (result_.change.empty()) {
        say_instead("PCIe", format_pcie_link(*next), format_pcie_link(link));
      }
    } else if (result_.settings.empty()) {
      cannot(fmt::format("{} is the fastest PCIe link that there is", format_pcie_link(link)));
    }
  }

  void turn_device_links() {
    if (cluster_.node.gpu.pcie) set_wider(kGpu, "pcie", *cluster_.node.gpu.pcie);
    if (cluster_.node.nic.pcie) set_wider(kNic, "pcie", *cluster_.node.nic.pcie);
    turn_branches(false);
    say("PCIe links of GPUs and NICs" + in_place_of());
  }

  void turn_uplinks_of_switches() {
    turn_branches(true);
    say("uplinks of PCIe switches" + in_place_of());
  }

  // Of switches, or of sockets, whose link caps the devices'.
  void turn_branches(bool switches) {
    for (std::size_t i = 0; i < cluster_.node.pcie.size(); ++i) {
      const PcieBranch& branch = cluster_.node.pcie[i];
      if (!branch.link || branch.switch_name.empty() == switches) continue;
      set_wider(kNode, fmt::format("pcie.{}.link", i), *branch.link);
    }
  }

  // " of gen6x16 instead of gen5x16"
  std::string in_place_of() const {
    const std::size_t of = result_.change.find(" of ");
    return of == std::string::npos ? " of the next generation" : result_.change.substr(of);
  }

  bool turn_node() {
    const Node& node = cluster_.node;
    switch (result_.knob) {
      case Knob::kNvlinkRate:
        if (!node.nvlink) return true;
        say_doubled("NVLink", node.nvlink->bandwidth);
        set_doubled(kNode, "nvlink.bandwidth", node.nvlink->bandwidth);
        return true;
      case Knob::kNvlinkLatency:
        say("NVLink with half the delay");
        if (node.nvlink) set_halved(kNode, "nvlink.latency", node.nvlink->latency);
        return true;
      case Knob::kGpuMemoryRate:
        say_doubled("GPU memory", node.gpu.memory_bandwidth);
        set_doubled(kGpu, "memory_bandwidth", node.gpu.memory_bandwidth);
        return true;
      case Knob::kGpuMemoryLatency:
        say("GPU memory that answers NICs in half the time");
        set_halved(kGpu, "read_latency", node.gpu.read_latency);
        set_halved(kGpu, "write_latency", node.gpu.write_latency);
        return true;
      case Knob::kReduceRate:
        turn_reduce_rate();
        return true;
      case Knob::kPosting:
        say("work given to NICs in half the time (posting, doorbell, fetching it)");
        set_halved(kNic, "post", node.nic.post);
        set_halved(kNic, "doorbell", node.nic.doorbell);
        set_halved(kNic, "wqe_fetch", node.nic.wqe_fetch);
        return true;
      case Knob::kCompletion:
        say("NICs' completions seen in half the time");
        set_halved(kNic, "completion", node.nic.completion);
        return true;
      case Knob::kFlags:
        say("flags between host and kernel seen in half the time");
        set_halved(kGpu, "flag_latency", node.gpu.flag_latency);
        return true;
      case Knob::kLaunch:
        say("kernels launched in half the time");
        set_halved(kGpu, "kernel_launch", node.gpu.kernel_launch);
        return true;
      default:
        return false;
    }
  }

  bool turn_host_path() {
    const Node& node = cluster_.node;
    const PcieSettings& settings = node.pcie_settings;
    switch (result_.knob) {
      case Knob::kGpuDirect:
        turn_gpudirect();
        return true;
      case Knob::kAcs:
        say("PCIe switches that pass peer-to-peer on themselves (ACS off)");
        if (settings.acs) set(kSettings, "acs", "false");
        return true;
      case Knob::kIommu:
        say("addresses that no IOMMU translates (off, or passed through)");
        if (settings.iommu) set(kSettings, "iommu", "false");
        return true;
      case Knob::kRelaxedOrdering:
        say("writes of PCIe devices with relaxed ordering");
        if (!settings.relaxed_ordering) set(kSettings, "relaxed_ordering", "true");
        return true;
      case Knob::kHostMemoryRate:
        say_doubled("host memory", node.host_memory_bandwidth);
        set_doubled(kNode, "host_memory.bandwidth", node.host_memory_bandwidth);
        return true;
      case Knob::kCopySetup:
        say("copies between GPU and host memory started in half the time");
        set_halved(kGpu, "copy_setup", node.gpu.copy_setup);
        return true;
      default:
        return false;
    }
  }

  void turn_gpudirect() {
    say("NICs that read and write the memory of GPUs themselves (GPUDirect on)");
    set("communication.", "gpudirect", "on");
    if (cluster_.node.root_complex.peer_to_peer_across_sockets > BitRate{0}) return;
    const PcieDistances distances(cluster_.node);
    for (int gpu = 0; gpu < cluster_.ranks_per_node; ++gpu) {
      const int nic = distances.nearest_nics(gpu).front();
      if (distances.gpu_to_nic(gpu, nic) != PcieDistance::kOtherSocket) continue;
      return cannot("GPUs and NICs at different sockets pass each other nothing directly");
    }
  }

  // By themselves, faster kernels would make `channels: auto` take fewer.
  void turn_reduce_rate() {
    const BitRate rate = cluster_.node.gpu.reduce_bandwidth;
    say_doubled("reduce kernels", rate);
    set_doubled(kGpu, "reduce_bandwidth", rate);
    if (!scenario_.communication.channels && finite(rate)) {
      set("communication.", "channels", fmt::format("{}", channels_));
    }
  }

  bool turn_plan() {
    const Communication& plan = scenario_.communication;
    constexpr const char* kOwn = "the profile's protocols have slots of their own";
    switch (result_.knob) {
      case Knob::kChannels: {
        const int more = channels_ + std::max(cluster_.node.nic_count, 1);
        say(fmt::format("{} channels instead of {}", more, channels_));
        set("communication.", "channels", fmt::format("{}", more));
        if (plan.listed) cannot("the algorithm's file says how many channels it has");
        return true;
      }
      case Knob::kSlots:
        say(fmt::format("{} receive slots instead of {}", 2 * plan.slots, plan.slots));
        set("communication.", "slots", fmt::format("{}", 2 * plan.slots));
        if (plan.slots == 0) cannot(kOwn);
        return true;
      case Knob::kLargerSlots:
      case Knob::kSmallerSlots: {
        const bool larger = result_.knob == Knob::kLargerSlots;
        const Bytes size = larger ? plan.slot_size * 2 : Bytes{plan.slot_size.count / 2};
        say_instead("slots", format_bytes(size), format_bytes(plan.slot_size));
        set("communication.", "slot_size", format_bytes(size));
        if (plan.choose_protocol && !plan.own_slot_size) cannot(kOwn);
        return true;
      }
      case Knob::kFaults:
        say("nothing wrong in the cluster (no faults)");
        if (!cluster_.faults.empty()) set("cluster.", "faults", "[]");
        return true;
      default:
        return false;
    }
  }

  const Scenario& scenario_;
  const Cluster& cluster_;
  int channels_;
  WhatIf result_;
};

}  // namespace

WhatIf what_if(Knob knob, const Scenario& scenario, int channels) {
  if (const auto turned = recovery_what_if(knob, scenario)) return *turned;
  if (const auto turned = thread_what_if(knob, scenario)) return *turned;
  if (const auto turned = plan_what_if(knob, scenario)) return *turned;
  return Turning(knob, scenario, channels).turn();
}

}  // namespace gradhaul

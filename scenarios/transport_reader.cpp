#include "scenarios/transport_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/faults.h"
#include "core/network_framing.h"
#include "core/packet_loss.h"

namespace gradhaul {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000'000;
constexpr std::int64_t kMostCores = 1024;
constexpr std::int64_t kSlowestCopy = 1'000'000;  // 1 Mb/s

const char* kAddsUp = "adds up to some 42 Gb/s a core, Cai et al., SIGCOMM 2021";

// Where packets pass the kernel one by one, each takes 1 to 1.5 us in all, its copy included; over
// InfiniBand 870 ns would make one process reach the 20 Gb/s that some report of IPoIB.
Default packet_cost(bool offloads, const Cluster* cluster) {
  if (!offloads) {
    return {"1050ns", true, "1-1.5 us a packet of 1500 B with its copy", "800ns", "1300ns"};
  }
  const bool infiniband = cluster != nullptr && cluster->network.kind == NetworkKind::kInfiniband;
  return {"150ns", true, kAddsUp, "100ns", infiniband ? "870ns" : "200ns"};
}

TcpSettings read_tcp(MappingReader reader, const Cluster* cluster) {
  TcpSettings tcp;
  tcp.sockets = static_cast<int>(reader.count(
      "sockets", {.otherwise = {"1", false, "as NCCL_SOCKET_NTHREADS and NCCL_NSOCKS_PERTHREAD"},
                  .least = 1,
                  .most = kMostCores}));
  tcp.cores = static_cast<int>(reader.count(
      "cores", {.otherwise = {"1", false, "a rank's communication thread alone, as NCCL's"},
                .least = 1,
                .most = kMostCores}));
  tcp.offloads = reader.truth("offloads", {"true"});
  tcp.send_copy = reader.rate(
      "send_copy",
      {.otherwise = {"10GB/s", true, kAddsUp, "8GB/s", "12GB/s"}, .least = kSlowestCopy});
  tcp.receive_copy = reader.rate(
      "receive_copy",
      {.otherwise = {"7.5GB/s", true, kAddsUp, "6GB/s", "10GB/s"}, .least = kSlowestCopy});
  const Default aggregate =
      tcp.offloads ? Default{"2.5us", true, kAddsUp, "2us", "3us"} : Default{"0ns"};
  tcp.aggregate = reader.time("aggregate", {.otherwise = aggregate, .most = kSecond});
  tcp.packet =
      reader.time("packet", {.otherwise = packet_cost(tcp.offloads, cluster), .most = kSecond});
  tcp.system_call = reader.time(
      "system_call", {.otherwise = {"200ns", true, "0.1-0.3 us, and 0.3-0.7 more with mitigations",
                                    "100ns", "1us"},
                      .most = kSecond});
  tcp.interrupt = reader.time(
      "interrupt",
      {.otherwise = {"3.5us", true, "2-5 us from an interrupt to the thread", "2us", "5us"},
       .most = kSecond});
  reader.finish();
  return tcp;
}

void check_plan(MappingReader& reader, const Cluster* cluster, Communication& communication) {
  const auto only_rdma = [&](std::string_view key, bool wrong, std::string_view instead) {
    if (wrong) reader.report(key, fmt::format("{}: with transport: tcp {}", key, instead));
  };
  only_rdma("gpudirect", communication.gpudirect == GpuDirect::kOn,
            "all data passes host memory; take off, or leave it out");
  communication.gpudirect = GpuDirect::kOff;
  only_rdma("queue_pairs", communication.queue_pairs > 1, "a connection has tcp.sockets");
  only_rdma("registration", communication.registering != Registering::kOnce,
            "no memory is registered");
  only_rdma("completion", communication.sleeps,
            "the kernel is woken by interrupts (tcp.interrupt), and the thread polls");
  only_rdma("thread_step", communication.thread_step.ps > 0,
            "what a post or a completion takes is in tcp.system_call");
  if (communication.choose_algorithm || communication.choose_protocol) {
    const std::string_view key = communication.choose_algorithm ? "algorithm" : "protocol";
    only_rdma(key, true,
              "nothing is chosen in this version, whose tuners reckon with RDMA; name "
              "algorithm and protocol, as algorithm: ring, protocol: simple");
  }
  if (cluster == nullptr) return;
  if (!cluster->node.gpu.pcie || !cluster->node.nic.pcie || cluster->node.pcie.empty()) {
    reader.report("transport",
                  fmt::format("transport: tcp needs PCIe, by which data would reach host memory, "
                              "and {} has none",
                              cluster->node.name));
  }
  const NetworkKind kind = cluster->network.kind;
  if (kind == NetworkKind::kRoce || kind == NetworkKind::kIdeal) {
    reader.report(
        "transport",
        fmt::format("transport: tcp goes over a network of kind ethernet, or over "
                    "infiniband as IPoIB, and {} is of kind {}",
                    cluster->network.name, kind == NetworkKind::kRoce ? "roce" : "ideal"));
  }
}

}  // namespace

void read_transport(MappingReader& reader, const Cluster* cluster, Communication& communication) {
  const bool tcp =
      reader.choice("transport", {.otherwise = {"rdma"}, .available = {"rdma", "tcp"}}) == 1;
  if (!tcp) {
    reader.raw("tcp");
    if (reader.has("tcp")) {
      reader.report("tcp", "tcp: only with transport: tcp; add that, or leave this out");
    }
    if (cluster != nullptr && cluster->nodes > 1 &&
        cluster->network.kind == NetworkKind::kEthernet) {
      reader.report("transport",
                    fmt::format("transport: {} is of kind ethernet, which carries TCP; take "
                                "transport: tcp, or kind: roce for RDMA over Ethernet",
                                cluster->network.name));
    }
    return;
  }
  check_plan(reader, cluster, communication);
  communication.tcp = read_tcp(reader.mapping("tcp"), cluster);
}

void choose_transport(Scenario& scenario) {
  if (!scenario.communication.tcp) return;
  Network& network = scenario.cluster.network;
  network.tcp = scenario.communication.tcp;
  network.mtu = network.mtu - tcp_share_of_mtu(network.kind);
  if (scenario.cluster.nodes < 2) return;
  scenario.model_notes.push_back(fmt::format(
      "TCP {}with {}B in a packet: nothing is lost, and its congestion control is taken to share "
      "links evenly at no cost; windows are as large as they need to be.",
      network.kind == NetworkKind::kInfiniband ? "over InfiniBand (IPoIB) " : "",
      network.mtu.count));
}

void check_tcp(MappingReader& reader, const Scenario& scenario) {
  if (!scenario.communication.tcp) {
    for (const Job& job : scenario.jobs) {
      if (job.communication.tcp) {
        reader.report("jobs", "jobs: all go by RDMA in this version; leave out transport: tcp");
        return;
      }
    }
    return;
  }
  if (std::any_of(scenario.jobs.begin(), scenario.jobs.end(), [&](const Job& job) {
        return job.communication.tcp != scenario.communication.tcp;
      })) {
    reader.report("jobs",
                  "jobs: all go by TCP with the same settings in this version; say transport and "
                  "tcp in `communication` of the scenario");
  }
  if (!scenario.cluster.faults.late_receives.empty()) {
    reader.report_together({"cluster.faults"},
                           "faults: with transport: tcp no receives are posted, early or late; "
                           "leave receives_late out");
  }
  if (may_lose_packets(scenario.cluster)) {
    reader.report_together({"cluster.faults"},
                           "faults: with transport: tcp nothing is lost in this version; leave out "
                           "bit_error_rate and down, or take rdma");
  }
}

WhatIf made_rdma(const Scenario& scenario) {
  WhatIf result;
  result.knob = Knob::kRdma;
  if (!scenario.communication.tcp) {
    result.obstacle = "it goes by RDMA";
    return result;
  }
  const bool ethernet = scenario.cluster.network.kind == NetworkKind::kEthernet;
  result.change = ethernet ? "RDMA (RoCEv2, lossless by PFC) instead of TCP: no CPU copies data"
                           : "RDMA instead of TCP: no CPU copies data";
  result.settings.emplace_back("communication.transport=rdma");
  if (ethernet) result.settings.emplace_back("cluster.network.kind=roce");
  return result;
}

WhatIf more_cores(const Scenario& scenario) {
  WhatIf result;
  result.knob = Knob::kTcpCores;
  if (!scenario.communication.tcp) {
    result.obstacle = "it costs nothing here, or has no limit";
    return result;
  }
  const TcpSettings& tcp = *scenario.communication.tcp;
  result.change = fmt::format("{} cores and {} sockets for TCP instead of {} and {}", 2 * tcp.cores,
                              2 * tcp.sockets, tcp.cores, tcp.sockets);
  result.settings = {fmt::format("communication.tcp.cores={}", 2 * tcp.cores),
                     fmt::format("communication.tcp.sockets={}", 2 * tcp.sockets)};
  return result;
}

}  // namespace gradhaul

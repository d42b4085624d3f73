#include "scenarios/recovery_what_if.h"

#include <fmt/format.h>

#include "core/packet_loss.h"
#include "core/receive_queue.h"
#include "scenarios/lossy_network.h"

namespace gradhaul {
namespace {

WhatIf turned(Knob knob, std::string change, std::string setting, std::string obstacle) {
  WhatIf result{knob, std::move(change), {}, std::move(obstacle)};
  if (result.obstacle.empty()) result.settings.push_back(std::move(setting));
  return result;
}

WhatIf adaptive_routing(const Network& network) {
  const Topology& topology = network.topology;
  std::string obstacle;
  if (network.routing == Routing::kAdaptive) {
    obstacle = "each packet has its own way already";
  } else if (network.kind == NetworkKind::kIdeal || topology.leaves < 2 ||
             topology.uplinks_per_leaf < 2 || topology.kind == TopologyKind::kRing) {
    obstacle = "there is one way between any two NICs";
  }
  return turned(Knob::kAdaptiveRouting, "switches that send each packet by the least loaded uplink",
                "cluster.network.routing=adaptive", obstacle);
}

// Where buffers would wait for each other in a circle, the run says so, and by which.
WhatIf shortest_way(const Topology& topology) {
  std::string obstacle;
  if (topology.kind != TopologyKind::kRing) {
    obstacle = "the leaf switches are not cabled in a ring";
  } else if (topology.way == RingWay::kShortest) {
    obstacle = "each packet takes the way over fewer cables already";
  }
  return turned(Knob::kRingWay, "each packet by the way round the ring that has fewer cables",
                "cluster.network.topology.way=shortest", obstacle);
}

WhatIf more_uplinks(const Network& network) {
  const Topology& topology = network.topology;
  if (topology.kind == TopologyKind::kRing) {
    return turned(
        Knob::kMoreUplinks, "twice as many cables between leaf switches that are neighbours",
        fmt::format("cluster.network.topology.uplinks={}", 2 * topology.uplinks_per_leaf), "");
  }
  const double now = network.oversubscription;
  const bool over = now > 1;
  return turned(
      Knob::kMoreUplinks,
      over ? fmt::format("no oversubscription of the leaf switches, instead of {:g}:1", now)
           : "twice as many uplinks of the leaf switches",
      fmt::format("cluster.network.oversubscription={}", over ? "1" : fmt::format("{}", now / 2)),
      "");
}

}  // namespace

std::optional<WhatIf> recovery_what_if(Knob knob, const Scenario& scenario) {
  const Cluster& cluster = scenario.cluster;
  const NicModel& nic = cluster.node.nic;
  switch (knob) {
    case Knob::kLossless:
      return made_lossless(scenario);
    case Knob::kMoreUplinks:
      return more_uplinks(cluster.network);
    case Knob::kRingWay:
      return shortest_way(cluster.network.topology);
    case Knob::kAdaptiveRouting:
      return adaptive_routing(cluster.network);
    case Knob::kPlacement: {
      const bool asks = spreads_packets(cluster) && nic.out_of_order == OutOfOrder::kNak;
      return turned(knob, "NICs that place packets as they come instead of asking for them again",
                    "cluster.node.nics.model.out_of_order=place",
                    asks ? "" : "no NIC takes packets out of order for lost ones");
    }
    case Knob::kReceives: {
      const Communication& communication = scenario.communication;
      const bool fewer = posted_receives(communication) < communication.slots;
      return turned(knob, "a receive posted for each slot", "communication.receives=auto",
                    fewer ? "" : "there is a receive for each slot");
    }
    case Knob::kSelectiveRepeat: {
      const bool goes_back =
          numbers_packets(cluster) && nic.retransmission == Retransmission::kGoBackN;
      return turned(knob, "NICs that send again what is missing, and not all behind it",
                    "cluster.node.nics.model.retransmission=selective_repeat",
                    goes_back ? "" : "no NIC sends anything again but what is missing");
    }
    default:
      return std::nullopt;
  }
}

}  // namespace gradhaul

#include "scenarios/lossy_network.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/packet_loss.h"
#include "core/pause_marks.h"
#include "core/receive_queue.h"

namespace gradhaul {
namespace {

// Switches and NICs trust DSCP, and take eight of them for each priority in turn [NVIDIA, mlnx_qos:
// dscp2prio; Cumulus Linux, RoCE]. The traffic class is DSCP * 4.
int priority_of(int traffic_class) { return traffic_class / 4 / 8; }

// Of fidelities that know of no receives.
void check_receives(MappingReader& reader, const Scenario& scenario) {
  const auto lacks = [&](const Communication& communication) {
    return may_lack_receives(communication, scenario.cluster);
  };
  if (!lacks(scenario.communication) &&
      std::none_of(scenario.jobs.begin(), scenario.jobs.end(),
                   [&](const Job& job) { return lacks(job.communication); })) {
    return;
  }
  reader.report_together({"simulation.fidelity", "communication.receives", "cluster.faults"},
                         "receives: only fidelity packet has queue pairs wait for receives; for "
                         "any other take receives: auto, and leave the fault receives_late out");
}

void note_pacing(Scenario& scenario) {
  if (!scenario.cluster.network.congestion.dcqcn) return;
  scenario.model_notes.emplace_back(
      "congestion_control: dcqcn is taken to share links evenly at no cost, and times may be off "
      "by more than is said: only fidelity packet marks packets and slows senders down");
}

void note_pauses(Scenario& scenario) {
  const Network& network = scenario.cluster.network;
  if (scenario.cluster.nodes < 2 || !pauses_without_need(network)) return;
  const PauseMarks marks = least_marks(network);
  scenario.model_notes.push_back(fmt::format(
      "flow_control: a port pauses above {}B and lets go on at {}B. With less than {}B and {}B "
      "links may be paused that nothing else holds up, or run dry until they are let go on. Only "
      "fidelity packet pauses any: this time may be far too short, and neither how far it is said "
      "to be off nor between what it is said to lie need hold.",
      marks.xoff.count, marks.xon.count, held_in_passing(network).count,
      gone_before_resumed(network).count));
}

}  // namespace

void choose_priority(Scenario& scenario) {
  Network& network = scenario.cluster.network;
  if (network.kind != NetworkKind::kRoce || scenario.cluster.nodes < 2) return;
  const std::optional<int> given = scenario.communication.traffic_class;
  if (network.pause.on && given && priority_of(*given) != network.pause.priority) {
    network.lossy_class = true;
    scenario.model_notes.push_back(fmt::format(
        "traffic_class {} is DSCP {} and goes by priority {}, which nothing pauses: switches drop "
        "what their buffers cannot hold. The lossless priority is {}, traffic_class {} to {}.",
        *given, *given / 4, priority_of(*given), network.pause.priority,
        network.pause.priority * 32, network.pause.priority * 32 + 31));
  }
  if (headroom_is_short(network)) {
    scenario.model_notes.push_back(fmt::format(
        "flow_control.headroom of {}B is less than the {}B that a port of {} needs over its "
        "longest cable: what comes after it has paused its peer may be dropped.",
        network.pause.headroom->count, needed_headroom(network).count, format_rate(network.link)));
  }
}

void check_priorities(MappingReader& reader, const Scenario& scenario) {
  if (scenario.cluster.network.kind != NetworkKind::kRoce) return;
  const std::optional<int> all = scenario.communication.traffic_class;
  if (std::all_of(scenario.jobs.begin(), scenario.jobs.end(),
                  [&](const Job& job) { return job.communication.traffic_class == all; })) {
    return;
  }
  reader.report("jobs",
                "jobs: all go by one traffic_class in this version; say it in `communication` of "
                "the scenario");
}

void check_losses(MappingReader& reader, Scenario& scenario) {
  const Faults& faults = scenario.cluster.faults;
  const bool in_packets = faults.lossy() || !faults.pfc_off.empty() || !faults.storms.empty();
  if (scenario.fidelity == Fidelity::kPacket) return;
  note_pacing(scenario);
  note_pauses(scenario);
  check_receives(reader, scenario);
  if (in_packets) {
    reader.report_together({"simulation.fidelity", "cluster.faults"},
                           "faults: only fidelity packet loses packets (bit_error_rate, down, pfc: "
                           "off) and pauses links (pause_storm); leave these faults out for any "
                           "other");
    return;
  }
  if (spreads_packets(scenario.cluster)) {
    reader.report_together({"simulation.fidelity", "cluster.network", "cluster.network.routing"},
                           "routing: only fidelity packet chooses a way for each packet; for any "
                           "other take routing: static or, of roce, ecmp");
  }
  if (!may_lose_packets(scenario.cluster)) return;
  reader.report_together(
      {"simulation.fidelity", "cluster.network", "cluster.network.flow_control",
       "communication.traffic_class"},
      "flow_control: only fidelity packet drops what buffers cannot hold; for any other take "
      "flow_control: pfc and traffic_class: auto");
}

WhatIf made_lossless(const Scenario& scenario) {
  const Network& network = scenario.cluster.network;
  WhatIf result;
  result.knob = Knob::kLossless;
  if (!network.drops() && !headroom_is_short(network)) {
    result.obstacle = "no buffer drops anything";
  } else if (!network.pause.on) {
    result.change = "Ethernet that pauses (PFC) instead of dropping what does not fit";
    result.settings = {"cluster.network.flow_control=pfc"};
  } else if (network.lossy_class) {
    result.change = fmt::format("traffic in the lossless priority, {}", network.pause.priority);
    result.settings = {"communication.traffic_class=auto"};
  } else {
    result.change = "headroom that holds what comes after a pause";
    result.settings = {"cluster.network.flow_control.headroom=auto"};
  }
  return result;
}

}  // namespace gradhaul

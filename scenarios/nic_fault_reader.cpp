#include "scenarios/nic_fault_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/cluster_parts.h"
#include "scenarios/quantity.h"

namespace gradhaul {
namespace {

constexpr std::int64_t kLongestStorm = 3'600'000'000'000'000;  // an hour

bool is_nic(const Cluster& cluster, const std::string& name) {
  const auto part = find_part(cluster, name);
  return part && part->kind == PartKind::kNetworkLink && name.starts_with("node");
}

// Whether the network pauses at all, which else is reported.
bool check_pauses(MappingReader& reader, std::string_view key, const Network& network) {
  if (network.kind == NetworkKind::kRoce && network.pause.on) return true;
  reader.report(key, fmt::format("{}: nothing is paused on {}; that is of RoCE with flow_control: "
                                 "pfc",
                                 key, network.name.empty() ? "this network" : network.name));
  return false;
}

PauseStorm read_storm(MappingReader& reader, const std::string& name) {
  MappingReader mapping = reader.mapping("pause_storm");
  PauseStorm storm{name, mapping.time("at", {.otherwise = {"0s"}}),
                   mapping.time("for", {.least = 1, .most = kLongestStorm})};
  mapping.finish();
  return storm;
}

}  // namespace

void read_nic_fault(MappingReader& reader, const Cluster* cluster, Faults& faults) {
  const std::string name = reader.text("nic", {});
  const bool off = reader.has("pfc");
  const bool storms = reader.has("pause_storm");
  for (const char* key : {"pfc", "pause_storm"}) reader.raw(key);
  if (off) reader.choice("pfc", {.otherwise = {"off"}, .available = {"off"}, .unavailable = {}});
  const PauseStorm storm = storms ? read_storm(reader, name) : PauseStorm{};
  if (off == storms) {
    reader.report("nic", fmt::format("what is the matter with {}? Its pfc, as off, or "
                                     "pause_storm, as {{at: 1ms, for: 5ms}}; one of them",
                                     name));
  }
  if (!reader.good() || cluster == nullptr) return;
  if (!is_nic(*cluster, name)) {
    reader.report("nic", fmt::format("nic: there is no NIC \"{}\"; they are called node0.nic0 to "
                                     "node{}.nic{}",
                                     name, cluster->nodes - 1, cluster->node.nic_count - 1));
    return;
  }
  if (!check_pauses(reader, off ? "pfc" : "pause_storm", cluster->network)) return;
  const bool raged = std::any_of(faults.storms.begin(), faults.storms.end(),
                                 [&](const PauseStorm& other) { return other.nic == name; });
  if (has_pfc_off(faults, name) || (off && raged)) {
    reader.report("nic", fmt::format("nic: {} has a fault already, and one without PFC has no "
                                     "other",
                                     name));
    return;
  }
  if (off) {
    faults.pfc_off.push_back({name});
  } else {
    faults.storms.push_back(storm);
  }
}

std::vector<std::string> nic_fault_notes(const Faults& faults) {
  std::vector<std::string> notes;
  for (const PfcOff& fault : faults.pfc_off) {
    notes.push_back(
        fmt::format("fault: {} has PFC off: it heeds no pause and sends none", fault.nic));
  }
  for (const PauseStorm& storm : faults.storms) {
    notes.push_back(fmt::format("fault: {} pauses its switch from {} on, for {}", storm.nic,
                                format_duration(storm.at), format_duration(storm.lasts)));
  }
  return notes;
}

}  // namespace gradhaul

#include "analysis/run_difference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

#include "analysis/resource_group.h"
#include "core/port_trouble.h"

namespace gradhaul {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kOtherUse = 0.01;

// Every value of the scenario by its path, in order.
class Flattened {
 public:
  explicit Flattened(const Json& effective) { add("", effective); }

  const std::vector<std::string>& paths() const { return paths_; }
  std::string at(const std::string& path) const {
    const auto found = values_.find(path);
    return found == values_.end() ? "" : found->second;
  }

 private:
  void add(const std::string& path, const Json& value) {
    const std::string prefix = path.empty() ? "" : path + ".";
    // Lists of plain values stay one: [0, 1, 2]; those of mappings have paths of their own.
    const bool entries = value.is_array() && !value.empty() && value.front().is_object();
    if (value.is_object() && !value.empty()) {
      for (const auto& [key, child] : value.items()) add(prefix + key, child);
    } else if (entries) {
      for (std::size_t i = 0; i < value.size(); ++i) add(prefix + std::to_string(i), value[i]);
    } else if (!path.empty()) {
      paths_.push_back(path);
      values_[path] = value.is_string()
                          ? value.get<std::string>()
                          : value.dump(-1, ' ', false, Json::error_handler_t::replace);
    }
  }

  std::vector<std::string> paths_;
  std::map<std::string, std::string> values_;
};

bool says_nothing(std::string_view path) {
  return path == "scenario" || path == "question" || path == "expect" ||
         path.starts_with("expect.");
}

std::int64_t ps(Duration duration) { return duration.ps; }

struct Counter {
  std::string_view name;
  bool is_time;
  std::int64_t (*value)(const PortCounters&);
};

constexpr std::array<Counter, 17> kCounters{
    {{"xmit_wait", true, [](const PortCounters& port) { return ps(port.xmit_wait); }},
     {"out_of_credits", true, [](const PortCounters& port) { return ps(port.out_of_credits); }},
     {"pfc_paused", true, [](const PortCounters& port) { return ps(port.pfc_paused); }},
     {"pfc_pause_frames", false, [](const PortCounters& port) { return port.pfc_pause_frames; }},
     {"pfc_pause_frames_sent", false,
      [](const PortCounters& port) { return port.pfc_pause_frames_sent; }},
     {"ecn_marked", false, [](const PortCounters& port) { return port.ecn_marked; }},
     {"cnp", false, [](const PortCounters& port) { return port.cnp; }},
     {"dropped", false, [](const PortCounters& port) { return port.dropped; }},
     {"tx_discards", false, [](const PortCounters& port) { return port.tx_discards; }},
     {"rx_discards", false, [](const PortCounters& port) { return port.rx_discards; }},
     {"retransmitted", false, [](const PortCounters& port) { return port.retransmitted; }},
     {"out_of_sequence", false, [](const PortCounters& port) { return port.out_of_sequence; }},
     {"packet_seq_err", false, [](const PortCounters& port) { return port.packet_seq_err; }},
     {"local_ack_timeout_err", false,
      [](const PortCounters& port) { return port.local_ack_timeout_err; }},
     {"rnr_nak_retry_err", false, [](const PortCounters& port) { return port.rnr_nak_retry_err; }},
     {"context_misses", false,
      [](const PortCounters& port) { return misses_of(port, "context_misses"); }},
     {"iotlb_misses", false,
      [](const PortCounters& port) { return misses_of(port, "iotlb_misses"); }}}};

std::map<std::string, double> busiest_of_kinds(const Prediction& prediction) {
  std::map<std::string, double> busiest;
  for (const ResourceUse& use : prediction.resources) {
    busiest[use.kind] = std::max(busiest[use.kind], use.utilisation);
  }
  return busiest;
}

}  // namespace

std::vector<SettingDifference> setting_differences(const Json& before, const Json& after) {
  const Flattened first(before);
  const Flattened second(after);
  std::vector<std::string> paths = first.paths();
  const std::set<std::string> known(paths.begin(), paths.end());
  for (const std::string& path : second.paths()) {
    if (known.count(path) == 0) paths.push_back(path);
  }
  std::vector<SettingDifference> differences;
  for (const std::string& path : paths) {
    SettingDifference difference{path, first.at(path), second.at(path)};
    if (difference.before == difference.after || says_nothing(path)) continue;
    differences.push_back(std::move(difference));
  }
  return differences;
}

std::vector<PartDifference> part_differences(const ResultRow& before, const ResultRow& after) {
  struct Members {
    std::set<std::string_view> names;
    Duration before;
    Duration after;
  };
  std::map<std::pair<std::string, std::string>, Members> groups;
  const auto add = [&groups](const ResultRow& row, Duration Members::*time) {
    for (const TimePart& part : row.parts) {
      Members& members = groups[{shape_of(part.resource), part.cause}];
      if (!part.resource.empty()) members.names.insert(part.resource);
      members.*time += part.time;
    }
  };
  add(before, &Members::before);
  add(after, &Members::after);
  std::vector<PartDifference> differences;
  for (const auto& [key, members] : groups) {
    const std::vector<std::string_view> names(members.names.begin(), members.names.end());
    differences.push_back(
        {names.empty() ? "" : common_name(names), key.second, members.before, members.after});
  }
  const auto size = [](const PartDifference& part) {
    return std::abs(part.after.ps - part.before.ps);
  };
  std::stable_sort(
      differences.begin(), differences.end(),
      [&](const PartDifference& a, const PartDifference& b) { return size(a) > size(b); });
  return differences;
}

std::vector<CounterDifference> counter_differences(const Prediction& before,
                                                   const Prediction& after) {
  struct Ports {
    std::set<std::string_view> names;
    std::array<std::int64_t, kCounters.size()> before{};
    std::array<std::int64_t, kCounters.size()> after{};
  };
  std::map<std::string, Ports> by_shape;
  for (const Prediction* prediction : {&before, &after}) {
    for (const PortCounters& port : prediction->counters) {
      Ports& ports = by_shape[shape_of(port.port)];
      ports.names.insert(port.port);
      auto& sums = prediction == &before ? ports.before : ports.after;
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += kCounters[i].value(port);
    }
  }
  std::vector<CounterDifference> differences;
  for (const auto& [shape, ports] : by_shape) {
    for (std::size_t i = 0; i < kCounters.size(); ++i) {
      if (ports.before[i] == ports.after[i]) continue;
      differences.push_back({common_name({ports.names.begin(), ports.names.end()}),
                             std::string(kCounters[i].name), kCounters[i].is_time, ports.before[i],
                             ports.after[i]});
    }
  }
  return differences;
}

std::vector<UseDifference> use_differences(const Prediction& before, const Prediction& after) {
  const auto first = busiest_of_kinds(before);
  const auto second = busiest_of_kinds(after);
  std::map<std::string, UseDifference> by_kind;
  for (const auto& [kind, use] : first) by_kind[kind].before = use;
  for (const auto& [kind, use] : second) by_kind[kind].after = use;
  std::vector<UseDifference> differences;
  for (auto& [kind, difference] : by_kind) {
    difference.kind = kind;
    if (std::abs(difference.after - difference.before) >= kOtherUse) {
      differences.push_back(difference);
    }
  }
  std::stable_sort(differences.begin(), differences.end(),
                   [](const UseDifference& a, const UseDifference& b) {
                     return std::abs(a.after - a.before) > std::abs(b.after - b.before);
                   });
  return differences;
}

}  // namespace gradhaul

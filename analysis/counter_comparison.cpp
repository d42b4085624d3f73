#include "analysis/counter_comparison.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "analysis/quantity_text.h"
#include "core/host_counter_names.h"
#include "core/port_trouble.h"

namespace gradhaul {
namespace {

constexpr std::size_t kKinds = 15;
constexpr std::array<std::string_view, kKinds> kNames{"xmit_wait_us",
                                                      "pfc_pause_frames",
                                                      "pfc_pause_frames_sent",
                                                      "pfc_paused_us",
                                                      "ecn_marked",
                                                      "cnp",
                                                      "dropped",
                                                      "tx_discards",
                                                      "rx_discards",
                                                      "retransmitted",
                                                      "out_of_sequence",
                                                      "packet_seq_err",
                                                      "local_ack_timeout_err",
                                                      "rnr_nak_retry_err",
                                                      "out_of_credits_us"};

using Values = std::array<double, kKinds>;

Values values_of(const PortCounters& port) {
  return {microseconds(port.xmit_wait),
          static_cast<double>(port.pfc_pause_frames),
          static_cast<double>(port.pfc_pause_frames_sent),
          microseconds(port.pfc_paused),
          static_cast<double>(port.ecn_marked),
          static_cast<double>(port.cnp),
          static_cast<double>(port.dropped),
          static_cast<double>(port.tx_discards),
          static_cast<double>(port.rx_discards),
          static_cast<double>(port.retransmitted),
          static_cast<double>(port.out_of_sequence),
          static_cast<double>(port.packet_seq_err),
          static_cast<double>(port.local_ack_timeout_err),
          static_cast<double>(port.rnr_nak_retry_err),
          microseconds(port.out_of_credits)};
}

void add(Values& sum, const Values& values) {
  for (std::size_t i = 0; i < kKinds; ++i) sum[i] += values[i];
}

std::map<std::string, Values> by_port(const std::vector<PortCounters>& ports) {
  std::map<std::string, Values> result;
  for (const PortCounters& port : ports) add(result[port.port], values_of(port));
  return result;
}

void append(const std::string& port, const Values& predicted, const Values& measured,
            std::vector<ComparedCounter>& counters) {
  for (std::size_t i = 0; i < kKinds; ++i) {
    if (predicted[i] == 0 && measured[i] == 0) continue;
    counters.push_back({port, std::string(kNames[i]), predicted[i], measured[i]});
  }
}

bool named_as_on_host(const std::vector<PortCounters>& ports) {
  return std::any_of(ports.begin(), ports.end(),
                     [](const PortCounters& port) { return !port.as_on_host.empty(); });
}

// Under the names of a prediction, where it has one for the same.
std::map<std::string, std::int64_t> under_predicted_names(const PortCounters& port) {
  const auto& counts = port.as_on_host;
  const bool of_rxe = std::any_of(counts.begin(), counts.end(),
                                  [](const auto& count) { return is_rxe_counter(count.first); });
  if (!of_rxe) return counts;
  std::map<std::string, std::int64_t> named;
  for (const auto& [name, count] : counts) {
    named[std::string(predicted_name_of_rxe(name))] += count;
  }
  return named;
}

// Real ports have no other names.
std::vector<ComparedCounter> compare_as_on_host(const std::vector<PortCounters>& predicted,
                                                const std::vector<PortCounters>& measured) {
  std::set<std::string> alike;
  for (const PortCounters& port : predicted) {
    const auto same = std::find_if(measured.begin(), measured.end(),
                                   [&](const PortCounters& m) { return m.port == port.port; });
    if (same != measured.end()) alike.insert(port.port);
  }
  // By port, or of all others together, and by name.
  std::map<std::string, std::map<std::string, ComparedCounter>> sums;
  const auto add = [&](const std::vector<PortCounters>& ports,
                       std::optional<double> ComparedCounter::*side) {
    for (const PortCounters& port : ports) {
      const std::string place = alike.contains(port.port) ? port.port : "";
      for (const auto& [name, count] : under_predicted_names(port)) {
        std::optional<double>& sum = sums[place][name].*side;
        sum = sum.value_or(0) + static_cast<double>(count);
      }
    }
  };
  add(predicted, &ComparedCounter::predicted);
  add(measured, &ComparedCounter::measured);
  std::vector<ComparedCounter> counters;
  const auto append = [&](const std::string& place) {
    for (auto& [name, counter] : sums[place]) {
      // Predictions leave out what is 0.
      if (!counter.predicted && is_predicted_counter(name)) counter.predicted = 0;
      if (counter.predicted.value_or(0) == 0 && counter.measured.value_or(0) == 0) continue;
      counters.push_back({place, name, counter.predicted, counter.measured});
    }
  };
  for (const std::string& place : alike) append(place);
  append("");
  return counters;
}

}  // namespace

std::vector<ComparedCounter> compare_counters(const std::vector<PortCounters>& predicted,
                                              const std::vector<PortCounters>& measured) {
  std::vector<ComparedCounter> counters;
  if (predicted.empty() || measured.empty()) return counters;
  if (named_as_on_host(predicted) && named_as_on_host(measured) &&
      std::none_of(measured.begin(), measured.end(), counts_trouble)) {
    return compare_as_on_host(predicted, measured);
  }
  const std::map<std::string, Values> left = by_port(predicted);
  const std::map<std::string, Values> right = by_port(measured);
  Values others_left{};
  Values others_right{};
  for (const auto& [port, values] : left) {
    const auto same = right.find(port);
    if (same == right.end()) {
      add(others_left, values);
    } else {
      append(port, values, same->second, counters);
    }
  }
  for (const auto& [port, values] : right) {
    if (!left.contains(port)) add(others_right, values);
  }
  append("", others_left, others_right, counters);
  return counters;
}

RowCounterComparison compare_counters(const Comparison& comparison, const ComparedPair& pair) {
  const CountedRuns& measured = pair.measured.counted;
  const ComparedRun& prediction = comparison.predicted;
  CountedRuns predicted = pair.predicted.counted;
  // A result's own counters are of its last row.
  if (predicted.runs == 0 && prediction.rows.back().size_bytes == pair.predicted.size_bytes) {
    predicted = {1, prediction.counters};
  }
  if (predicted.runs == 0 || measured.runs == 0) return {};
  RowCounterComparison compared{&pair, compare_counters(predicted.ports, measured.ports)};
  for (ComparedCounter& counter : compared.counters) {
    if (counter.measured) *counter.measured /= measured.runs;
  }
  if (compared.counters.empty()) compared.pair = nullptr;
  return compared;
}

RowCounterComparison compare_counters(const Comparison& comparison) {
  RowCounterComparison compared;
  if (const auto worst = comparison.worst()) {
    compared = compare_counters(comparison, comparison.pairs[*worst]);
  }
  for (auto pair = comparison.pairs.rbegin(); pair != comparison.pairs.rend(); ++pair) {
    if (compared.pair != nullptr) break;
    compared = compare_counters(comparison, *pair);
  }
  return compared;
}

}  // namespace gradhaul

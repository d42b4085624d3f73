#include "analysis/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <map>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "analysis/bottleneck.h"
#include "analysis/company_text.h"
#include "analysis/held_text.h"
#include "analysis/quantity_text.h"
#include "analysis/resource_group.h"
#include "analysis/table.h"
#include "analysis/time_parts.h"
#include "analysis/uncertainty_text.h"
#include "core/port_trouble.h"

namespace gradhaul {
namespace {

// Enough to see where the time goes; the result file has all.
constexpr std::size_t kMaxLines = 10;

std::string and_more(std::size_t all) {
  return all > kMaxLines ? fmt::format("#   … and {} more\n", all - kMaxLines) : "";
}

std::string parts_text(const ResultRow& row) {
  const std::vector<PartGroup> groups = grouped_parts(row);
  std::string text = "# Where the time goes, along the critical path:\n";
  for (std::size_t i = 0; i < std::min(groups.size(), kMaxLines); ++i) {
    const PartGroup& group = groups[i];
    const double share = static_cast<double>(group.time.ps) /
                         static_cast<double>(std::max<std::int64_t>(row.time.ps, 1));
    const std::string place = group.resources.empty() ? "" : group.resources + ": ";
    text += fmt::format("#   {:>8}  {:>6}  {}{}\n", duration_text(group.time), percent_text(share),
                        place, cause_in_words(group.cause, group.resources));
  }
  return text + and_more(groups.size());
}

std::string uses_text(const std::vector<ResourceUse>& resources) {
  const std::vector<UseGroup> groups = group_by_use(resources);
  if (groups.empty()) return "";
  std::string text = "# Busiest resources:\n";
  for (std::size_t i = 0; i < std::min(groups.size(), kMaxLines); ++i) {
    const UseGroup& group = groups[i];
    text += fmt::format("#   {:5.1f} %  {:>8}  {}: {}\n", group.highest * 100,
                        bytes_text(group.bytes), names_of_group(group), kind_in_words(group.kind));
  }
  return text + and_more(groups.size());
}

// The least and the greatest of a counter over the ports of one shape.
template <typename Value>
struct Range {
  Value least{};
  Value greatest{};
};

// `value`: a field, or what gives one.
template <typename Of>
auto range_of(const std::vector<const PortCounters*>& ports, Of value) {
  const auto [least, greatest] = std::minmax_element(
      ports.begin(), ports.end(), [&value](const PortCounters* a, const PortCounters* b) {
        return std::invoke(value, *a) < std::invoke(value, *b);
      });
  using Value = std::decay_t<std::invoke_result_t<Of&, const PortCounters&>>;
  return Range<Value>{std::invoke(value, **least), std::invoke(value, **greatest)};
}

std::string range_text(std::string_view name, Range<std::int64_t> range) {
  if (range.greatest == 0) return "";
  if (range.least == range.greatest) return fmt::format(", {} {}", name, range.least);
  return fmt::format(", {} {} to {}", name, range.least, range.greatest);
}

std::string range_text(std::string_view name, Range<Duration> range) {
  if (range.greatest == Duration{}) return "";
  const std::string least = duration_text(range.least);
  const std::string greatest = duration_text(range.greatest);
  if (least == greatest) return fmt::format(", {} {}", name, least);
  return fmt::format(", {} {} to {}", name, least, greatest);
}

std::string port_line(const std::vector<const PortCounters*>& ports) {
  constexpr std::array<std::pair<std::string_view, Duration PortCounters::*>, 3> kTimes{
      {{"xmit_wait", &PortCounters::xmit_wait},
       {"out_of_credits", &PortCounters::out_of_credits},
       {"pfc_paused", &PortCounters::pfc_paused}}};
  constexpr std::array<std::pair<std::string_view, std::int64_t PortCounters::*>, 12> kCounts{
      {{"pfc_pause_frames", &PortCounters::pfc_pause_frames},
       {"pfc_pause_frames_sent", &PortCounters::pfc_pause_frames_sent},
       {"ecn_marked", &PortCounters::ecn_marked},
       {"cnp", &PortCounters::cnp},
       {"dropped", &PortCounters::dropped},
       {"tx_discards", &PortCounters::tx_discards},
       {"rx_discards", &PortCounters::rx_discards},
       {"retransmitted", &PortCounters::retransmitted},
       {"out_of_sequence", &PortCounters::out_of_sequence},
       {"packet_seq_err", &PortCounters::packet_seq_err},
       {"local_ack_timeout_err", &PortCounters::local_ack_timeout_err},
       {"rnr_nak_retry_err", &PortCounters::rnr_nak_retry_err}}};
  std::string counters;
  for (const auto& [name, field] : kTimes) counters += range_text(name, range_of(ports, field));
  for (const auto& [name, field] : kCounts) counters += range_text(name, range_of(ports, field));
  for (const std::string_view name : kMisses) {
    const auto misses = [name](const PortCounters& port) { return misses_of(port, name); };
    counters += range_text(name, range_of(ports, misses));
  }
  if (counters.empty()) return "";
  std::vector<std::string_view> names;
  std::transform(ports.begin(), ports.end(), std::back_inserter(names),
                 [](const PortCounters* port) { return std::string_view(port->port); });
  const std::string many = names.size() > 1 ? fmt::format(" ({} ports)", names.size()) : "";
  return fmt::format("#   {}{}: {}\n", common_name(names), many, counters.substr(2));
}

std::string counters_text(const std::vector<PortCounters>& counters) {
  std::map<std::string, std::vector<const PortCounters*>> by_shape;
  for (const PortCounters& port : counters) {
    if (counts_trouble(port)) by_shape[shape_of(port.port)].push_back(&port);
  }
  std::string lines;
  for (const auto& [shape, ports] : by_shape) lines += port_line(ports);
  if (lines.empty()) return "# Counters: all zero.\n";
  return "# Counters that are not zero:\n" + lines;
}

// What made it needless to simulate every packet.
std::string why_skipped(const RunCost& cost) {
  if (cost.equal_parts == 1) return "recurrence";
  const bool recurred =
      cost.packet_hops * cost.equal_parts < cost.packet_hops + cost.skipped_packet_hops;
  return fmt::format("symmetry ({} equal parts){}", cost.equal_parts,
                     recurred ? " and recurrence" : "");
}

std::string digest_line(const Prediction& prediction) {
  std::string exact = "exact";
  if (!prediction.exact) {
    exact = "not exact";
    if (prediction.error_bound) {
      exact +=
          fmt::format(": the time is right to within {}", duration_text(*prediction.error_bound));
    }
  }
  const RunCost& cost = prediction.cost;
  std::string work;
  if (cost.packets > 0) {
    work = fmt::format("; {} packets simulated over {} hops", count_text(cost.packets),
                       count_text(cost.packet_hops));
    if (cost.skipped_packet_hops > 0) {
      work += fmt::format(", {} hops followed from {}", count_text(cost.skipped_packet_hops),
                          why_skipped(cost));
    }
  }
  return fmt::format("# Digest {} ({}{})\n", digest_text(prediction.digest), exact, work);
}

}  // namespace

std::string digest_text(std::uint64_t digest) { return fmt::format("{:016x}", digest); }

std::string resources_text(const Prediction& prediction) {
  return uses_text(prediction.resources) + counters_text(prediction.counters) + "#\n";
}

std::string closing_text(const Prediction& prediction) {
  std::string text;
  for (const std::string& note : prediction.notes) text += fmt::format("# Note: {}\n", note);
  return text + digest_line(prediction);
}

std::string report(const Prediction& prediction, const RunDescription& run) {
  std::string text = table_head(prediction, run);
  text += table_rows(prediction);
  text += table_foot(prediction);
  if (prediction.interrupted) text += "# Interrupted: only the rows above were finished.\n#\n";
  if (!prediction.failure.empty()) text += fmt::format("# Failed: {}\n#\n", prediction.failure);
  if (!prediction.rows.empty()) {
    const ResultRow& row = prediction.rows.back();
    check_parts(row);
    if (!row.job.empty()) {
      text += fmt::format("# Of {}, with resources and counters of the whole run:\n", row.job);
    } else if (prediction.rows.size() > 1) {
      text += fmt::format("# At {}:\n", bytes_text(row.size));
    }
    text += fmt::format("# {}\n#\n", bottleneck_sentence(row, prediction.resources));
    text += parts_text(row);
    // NCCL's tuner knows no ports.
    text += prediction.resources.empty() ? "#\n" : resources_text(prediction);
    if (const std::string held = held_text(row); !held.empty()) text += held + "#\n";
    if (prediction.company) text += company_text(*prediction.company, prediction.rows) + "#\n";
    if (row.uncertainty) text += uncertainty_text(prediction) + "#\n";
  }
  return text + closing_text(prediction);
}

std::string report(const Measurement& measurement, const RunDescription& run) {
  std::string text = table_head(measurement, run) + table_rows(measurement);
  text += table_foot(measurement);
  if (measurement.interrupted) text += "# Interrupted: only the rows above were finished.\n#\n";
  text +=
      "# Times: means over iterations; of each, the slowest rank's from its start, which follows "
      "a\n"
      "# barrier, to its complete result. #wrong is counted, over all ranks, in one run more.\n";
  for (const std::string& note : measurement.notes) text += fmt::format("# Note: {}\n", note);
  for (const std::string& failure : measurement.failures) {
    text += fmt::format("# Failed: {}\n", failure);
  }
  return text;
}

}  // namespace gradhaul

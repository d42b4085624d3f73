#include "analysis/comparison_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "analysis/counter_comparison.h"
#include "analysis/quantity_text.h"
#include "analysis/resource_group.h"
#include "analysis/result_json.h"
#include "analysis/time_parts.h"

namespace gradhaul {
namespace {

constexpr std::size_t kMaxNamed = 8;
constexpr std::size_t kMaxParts = 6;
constexpr std::size_t kMaxCounters = 20;

std::string time_text(double us) {
  if (us >= 10000) return fmt::format("{:.0f}", us);
  return us >= 100 ? fmt::format("{:.1f}", us) : fmt::format("{:.2f}", us);
}

std::string bandwidth_text(std::optional<double> gigabytes) {
  if (!gigabytes) return "-";
  return *gigabytes >= 0.095 ? fmt::format("{:.2f}", *gigabytes)
                             : fmt::format("{:.4f}", *gigabytes);
}

std::string ratio_text(std::optional<double> ratio) {
  if (!ratio) return "-";
  return *ratio < 99.95 ? fmt::format("{:.3f}", *ratio) : fmt::format("{:.0f}", *ratio);
}

std::string percent_of(double share) {
  const std::string text = fmt::format("{:.4g}", share * 100);
  return text + " %";
}

std::string sizes_text(const std::vector<std::int64_t>& sizes) {
  std::string text;
  for (std::size_t i = 0; i < std::min(sizes.size(), kMaxNamed); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", sizes[i]);
  }
  if (sizes.size() > kMaxNamed) return text + fmt::format(", … B ({} in all)", sizes.size());
  return text + " B";
}

std::string many(std::size_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

std::string side_text(const ComparedRun& run, const ComparedRow* row) {
  std::string text = fmt::format("{} ({}", run.source, run.format);
  if (!run.name.empty()) text += ", " + run.name;
  if (run.nccl.version) text += ", " + run.nccl.version->value;
  if (run.perftest && !run.perftest->device.empty()) text += ", " + run.perftest->device;
  text += ")";
  if (row == nullptr) return text;
  std::vector<std::string> words;
  if (!row->collective.empty()) words.push_back(row->collective);
  if (row->ranks) words.push_back(many(static_cast<std::size_t>(*row->ranks), "rank"));
  for (const std::string& word : {row->datatype, row->reduction, row->algorithm, row->protocol}) {
    if (!word.empty()) words.push_back(word);
  }
  if (row->channels) words.push_back(many(static_cast<std::size_t>(*row->channels), "channel"));
  if (!row->profile.empty()) words.push_back("profile " + row->profile);
  return fmt::format("{}: {}", text, fmt::join(words, ", "));
}

std::string head(const Comparison& comparison, const std::string& version) {
  const auto first = [](const ComparedRun& run) {
    return run.rows.empty() ? nullptr : &run.rows.front();
  };
  std::string text =
      fmt::format("# gradhaul {}: compare\n# predicted: {}\n# measured:  {}\n", version,
                  side_text(comparison.predicted, first(comparison.predicted)),
                  side_text(comparison.measured, first(comparison.measured)));
  for (const std::string& note : comparison.notes) text += fmt::format("# Note: {}.\n", note);
  return text;
}

std::string place_text(const ComparedRow& row) {
  if (!row.in_place) return "-";
  return *row.in_place ? "in" : "out";
}

std::string verdict_text(const ComparedPair& pair, double tolerance) {
  switch (pair.verdict) {
    case Verdict::kWithin:
      return fmt::format("within {}", percent_of(tolerance));
    case Verdict::kSlower:
    case Verdict::kFaster:
      return fmt::format("OUTSIDE, {}", name_of(pair.verdict));
    case Verdict::kWrong:
      return "OUTSIDE, wrong";
    case Verdict::kUnjudged:
      break;
  }
  return std::string(name_of(pair.verdict));
}

constexpr const char* kRow =
    "{:>12}  {:>5}  {:>9}  {:>9}  {:>6}  {:>9}  {:>9}  {:>9}  {:>9}  {:>6}   {}\n";

// The first columns of a head stand behind its '#'.
std::string head_line(std::string line) {
  line.front() = '#';
  return line;
}

std::string table(const Comparison& comparison) {
  std::string text = "#\n";
  text += head_line(fmt::format(kRow, "", "", "predicted", "measured", "", "predicted", "measured",
                                "predicted", "measured", "", ""));
  text += head_line(fmt::format(kRow, "size", "place", "time", "time", "ratio", "algbw", "algbw",
                                "busbw", "busbw", "ratio", "verdict"));
  text += head_line(fmt::format(kRow, "(B)", "", "(us)", "(us)", "m/p", "(GB/s)", "(GB/s)",
                                "(GB/s)", "(GB/s)", "m/p", ""));
  for (const ComparedPair& pair : comparison.pairs) {
    std::string verdict = verdict_text(pair, comparison.tolerance);
    if (!pair.remark.empty()) verdict += ": " + pair.remark;
    text += fmt::format(
        kRow, pair.measured.size_bytes, place_text(pair.measured),
        time_text(pair.predicted.time_us), time_text(pair.measured.time_us),
        ratio_text(pair.time_ratio), bandwidth_text(pair.predicted.algbw_GBps),
        bandwidth_text(pair.measured.algbw_GBps), bandwidth_text(pair.predicted.busbw_GBps),
        bandwidth_text(pair.measured.busbw_GBps), ratio_text(pair.busbw_ratio), verdict);
  }
  return text + "#\n";
}

std::string size_in_words(const ComparedPair& pair) {
  const std::string place = place_text(pair.measured);
  return fmt::format("{} B{}", pair.measured.size_bytes,
                     place == "-"    ? ""
                     : place == "in" ? " in place"
                                     : " out of place");
}

std::string times_as_long(double ratio) {
  if (ratio >= 1) return fmt::format("{:.3g} times as long as predicted", ratio);
  return fmt::format("{:.3g} of the predicted time", ratio);
}

std::string summary(const Comparison& comparison) {
  const std::size_t judged = comparison.judged();
  const std::size_t outside = comparison.outside();
  std::string text =
      fmt::format("# Compared: {} ({}); {} within {} of the predicted time, {} outside{}.\n",
                  many(comparison.sizes(), "size"), many(comparison.pairs.size(), "row"),
                  judged - outside, percent_of(comparison.tolerance), outside,
                  judged == comparison.pairs.size()
                      ? ""
                      : fmt::format(", {} not judged", comparison.pairs.size() - judged));
  if (const auto worst = comparison.worst()) {
    const ComparedPair& pair = comparison.pairs[*worst];
    text +=
        fmt::format("# Worst:  {} took {}.\n", size_in_words(pair), times_as_long(pair.time_ratio));
    text += fmt::format("# Median: {}.\n", times_as_long(comparison.median_ratio()));
  }
  if (!comparison.only_predicted.empty()) {
    text += fmt::format("# Only predicted: {}.\n", sizes_text(comparison.only_predicted));
  }
  if (!comparison.only_measured.empty()) {
    text += fmt::format("# Only measured: {}.\n", sizes_text(comparison.only_measured));
  }
  return text;
}

bool any_slower(const Comparison& comparison) {
  return std::any_of(comparison.pairs.begin(), comparison.pairs.end(),
                     [](const ComparedPair& pair) { return pair.verdict == Verdict::kSlower; });
}

std::string findings_text(const Comparison& comparison) {
  if (comparison.findings.empty()) return "";
  std::string text = "#\n# What the measured side says that the prediction has otherwise:\n";
  std::string likely;
  for (const RunFinding& finding : comparison.findings) {
    const std::string layer = finding.layer.empty() ? "" : finding.layer + ": ";
    text += fmt::format("#   {}{}\n", layer, finding.text);
    if (likely.empty()) likely = finding.layer;
  }
  if (!likely.empty() && any_slower(comparison)) {
    text += fmt::format("# So the layer to look at first is: {}.\n", likely);
  }
  return text;
}

// "node0.nic0: busy" of a result file, as a part of a row's time.
TimePart part_of(const std::string& name, double us) {
  const std::size_t colon = name.find(": ");
  const Duration time{std::llround(std::min(us, 1e12) * 1e6)};
  if (colon == std::string::npos) return {"", name, time};
  return {name.substr(0, colon), name.substr(colon + 2), time};
}

std::string worst_text(const Comparison& comparison) {
  const auto worst = comparison.worst();
  if (!worst) return "";
  const ComparedRow& predicted = comparison.pairs[*worst].predicted;
  std::string text;
  if (!predicted.limited_by.empty()) {
    text += fmt::format("#\n# The prediction of the worst row, {} B, is limited by {}.",
                        predicted.size_bytes, predicted.limited_by);
  }
  if (predicted.parts_us.empty()) return text.empty() ? "" : text + "\n";
  ResultRow row;
  for (const auto& [name, us] : predicted.parts_us) row.parts.push_back(part_of(name, us));
  text += text.empty() ? "#\n# The worst row's predicted time is:\n" : " Its time is:\n";
  const std::vector<PartGroup> groups = grouped_parts(row);
  for (std::size_t i = 0; i < std::min(groups.size(), kMaxParts); ++i) {
    const PartGroup& group = groups[i];
    const double share = static_cast<double>(group.time.ps) / 1e6 / predicted.time_us;
    text += fmt::format("#   {:>8}  {:>6}  {}{}\n", duration_text(group.time), percent_text(share),
                        group.resources.empty() ? "" : group.resources + ": ",
                        cause_in_words(group.cause, group.resources));
  }
  if (groups.size() > kMaxParts) {
    text += fmt::format("#   … and {} more\n", groups.size() - kMaxParts);
  }
  return text;
}

std::string count_text(std::optional<double> count) {
  return count ? fmt::format("{:.10g}", *count) : "-";
}

std::string counters_text(const Comparison& comparison) {
  const RowCounterComparison compared = compare_counters(comparison);
  const std::vector<ComparedCounter>& counters = compared.counters;
  if (counters.empty()) return "";
  const ComparedRow& row = compared.pair->measured;
  const int runs = row.counted.runs;
  std::string text = fmt::format(
      "#\n# What ports count in one collective of {} B{}{}:\n# {:>25}  {:>14}\n", row.size_bytes,
      row.in_place.value_or(false) ? " in place" : "",
      runs > 1 ? fmt::format(" (measured: the mean of {})", runs) : "", "predicted", "measured");
  for (std::size_t i = 0; i < std::min(counters.size(), kMaxCounters); ++i) {
    const ComparedCounter& counter = counters[i];
    text += fmt::format("#            {:>14}  {:>14}  {} of {}\n", count_text(counter.predicted),
                        count_text(counter.measured), counter.name,
                        counter.port.empty() ? "all other ports" : counter.port);
  }
  if (counters.size() > kMaxCounters) {
    text += fmt::format("#   … and {} more\n", counters.size() - kMaxCounters);
  }
  return text;
}

}  // namespace

std::string comparison_report(const Comparison& comparison, const std::string& version) {
  std::string text = head(comparison, version);
  if (!comparison.pairs.empty()) text += table(comparison) + summary(comparison);
  return text + findings_text(comparison) + worst_text(comparison) + counters_text(comparison);
}

}  // namespace gradhaul

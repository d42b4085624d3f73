#include "analysis/ladder_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/csv_field.h"
#include "analysis/quantity_text.h"
#include "analysis/result_json.h"

namespace gradhaul {
namespace {

using Json = nlohmann::ordered_json;

const LadderRow* find(const Ladder& ladder, Rung rung, Bytes size) {
  for (const LadderRow& row : ladder.rows) {
    if (row.rung == rung && row.size == size) return &row;
  }
  return nullptr;
}

void judge(ComparedRung& rung, double tolerance) {
  if (!rung.predicted.missing.empty() || !rung.measured.missing.empty()) return;
  rung.time_ratio =
      static_cast<double>(rung.measured.time.ps) / static_cast<double>(rung.predicted.time.ps);
  rung.verdict = Verdict::kWithin;
  // A hair of slack, so that exactly the tolerance is within it.
  if (rung.time_ratio > 1 + tolerance + 1e-9) rung.verdict = Verdict::kSlower;
  if (rung.time_ratio < 1 - tolerance - 1e-9) rung.verdict = Verdict::kFaster;
}

bool is_outside(const ComparedRung& rung) {
  return rung.verdict == Verdict::kSlower || rung.verdict == Verdict::kFaster;
}

void require_same_bytes(const LadderRow& predicted, const LadderRow& measured) {
  // Of a share of the message each side may round for itself.
  if (std::abs(predicted.carried.count - measured.carried.count) <= 1) return;
  throw Incomparable(fmt::format(
      "of {} B, a NIC sends {} B in the predicted {} and {} B in the measured one: ranks, NICs or "
      "algorithm differ; predict with those that were measured (--set cluster.nodes=…)",
      predicted.size.count, predicted.carried.count, words_of(predicted.rung),
      measured.carried.count));
}

std::vector<LadderGap> gaps_of(const std::vector<ComparedRung>& rungs) {
  std::vector<LadderGap> gaps;
  const ComparedRung* below = nullptr;
  for (const ComparedRung& rung : rungs) {
    if (below != nullptr && below->predicted.size != rung.predicted.size) below = nullptr;
    if (rung.verdict == Verdict::kUnjudged) continue;
    const bool begins = below == nullptr || !is_outside(*below);
    const bool known = !gaps.empty() && gaps.back().size == rung.predicted.size;
    if (is_outside(rung) && begins && !known) {
      LadderGap gap{rung.predicted.size, rung.predicted.rung, std::nullopt, rung.verdict};
      if (below != nullptr) gap.below = below->predicted.rung;
      gaps.push_back(gap);
    }
    below = &rung;
  }
  return gaps;
}

std::string rung_text(const ComparedRung& rung) {
  const LadderRow& predicted = rung.predicted;
  std::string text = fmt::format("{:>13} {:>18} {:>13}", predicted.size.count,
                                 words_of(predicted.rung), predicted.carried.count);
  for (const LadderRow* row : {&rung.predicted, &rung.measured}) {
    text += row->missing.empty() ? fmt::format(" {:>10.2f} {:>8.2f}", row->time.microseconds(),
                                               bandwidth_of(*row) / 1e9)
                                 : fmt::format(" {:>10} {:>8}", "-", "-");
  }
  if (rung.verdict != Verdict::kUnjudged) {
    return fmt::format("{} {:>7.3f}  {}\n", text, rung.time_ratio, name_of(rung.verdict));
  }
  const bool here = !rung.measured.missing.empty();
  return fmt::format("{} {:>7}  {}: {}\n", text, "-", here ? "not measured" : "not predicted",
                     here ? rung.measured.missing : rung.predicted.missing);
}

Json rung_json(const ComparedRung& rung) {
  const auto time = [](const LadderRow& row) {
    return row.missing.empty() ? Json(microseconds(row.time)) : Json();
  };
  const std::string& missing =
      rung.measured.missing.empty() ? rung.predicted.missing : rung.measured.missing;
  return {{"rung", name_of(rung.predicted.rung)},
          {"size_bytes", rung.predicted.size.count},
          {"carried_bytes", rung.predicted.carried.count},
          {"predicted_us", time(rung.predicted)},
          {"measured_us", time(rung.measured)},
          {"time_ratio", rung.time_ratio > 0 ? Json(rung.time_ratio) : Json()},
          {"verdict", name_of(rung.verdict)},
          {"missing", missing.empty() ? Json() : Json(missing)}};
}

}  // namespace

std::size_t LadderComparison::judged() const {
  return static_cast<std::size_t>(
      std::count_if(rungs.begin(), rungs.end(),
                    [](const ComparedRung& rung) { return rung.verdict != Verdict::kUnjudged; }));
}

std::size_t LadderComparison::outside() const {
  return static_cast<std::size_t>(std::count_if(rungs.begin(), rungs.end(), is_outside));
}

LadderComparison compare_ladders(const Ladder& predicted, const Ladder& measured,
                                 double tolerance) {
  if (!predicted.predicted || measured.predicted) {
    throw Incomparable(predicted.predicted || measured.predicted == predicted.predicted
                           ? "a predicted ladder comes first, then a measured one"
                           : "the first is measured and the second predicted; are they swapped?");
  }
  LadderComparison comparison;
  comparison.tolerance = tolerance;
  comparison.predicted_profile = profile_of(predicted.scenario.effective);
  comparison.measured_profile = profile_of(measured.scenario.effective);
  for (const LadderRow& row : predicted.rows) {
    const LadderRow* const other = find(measured, row.rung, row.size);
    if (other == nullptr) continue;
    ComparedRung rung{row, *other};
    require_same_bytes(row, *other);
    judge(rung, tolerance);
    comparison.rungs.push_back(rung);
  }
  if (comparison.rungs.empty()) {
    throw Incomparable(
        "no size is on both ladders; predict the measured ones (--set 'workload.size=[…]')");
  }
  comparison.gaps = gaps_of(comparison.rungs);
  return comparison;
}

std::string sentence_of(const LadderGap& gap) {
  const std::string how(name_of(gap.verdict));
  if (!gap.below) {
    return fmt::format(
        "the gap is there at the lowest rung that both have: {} ({}); it arises there or below",
        words_of(gap.rung), how);
  }
  return fmt::format("the gap arises at: {} ({}; {} is within the tolerance)", words_of(gap.rung),
                     how, words_of(*gap.below));
}

std::string ladder_comparison_text(const LadderComparison& comparison, const std::string& version) {
  std::string text = fmt::format(
      "# gradhaul {}: ladders {} (predicted{}) and {} (measured{}), tolerance {}\n#\n# {:>11} "
      "{:>18} {:>13} {:>19} {:>19} {:>7}\n# {:>11} {:>18} {:>13} {:>10} {:>8} {:>10} {:>8} {:>7}\n",
      version, comparison.predicted, profile_words(comparison.predicted_profile),
      comparison.measured, profile_words(comparison.measured_profile),
      percent_text(comparison.tolerance), "size", "rung", "sends", "predicted", "measured", "ratio",
      "(B)", "", "(B)", "(us)", "(GB/s)", "(us)", "(GB/s)", "of time");
  for (const ComparedRung& rung : comparison.rungs) text += rung_text(rung);
  for (const LadderGap& gap : comparison.gaps) {
    text += fmt::format("# At {} B {}.\n", gap.size.count, sentence_of(gap));
  }
  if (comparison.gaps.empty() && comparison.judged() > 0) {
    text += "# No gap: every rung that both have is within the tolerance.\n";
  }
  return text;
}

std::string ladder_comparison_json(const LadderComparison& comparison, const std::string& version) {
  Json json;
  json["schema"] = "gradhaul.ladder_comparison/1";
  json["version"] = version;
  json["predicted"] = comparison.predicted;
  json["measured"] = comparison.measured;
  json["predicted_profile"] = text_or_null(comparison.predicted_profile);
  json["measured_profile"] = text_or_null(comparison.measured_profile);
  json["tolerance"] = comparison.tolerance;
  json["rungs"] = Json::array();
  for (const ComparedRung& rung : comparison.rungs) json["rungs"].push_back(rung_json(rung));
  json["gaps"] = Json::array();
  for (const LadderGap& gap : comparison.gaps) {
    json["gaps"].push_back({{"size_bytes", gap.size.count},
                            {"rung", name_of(gap.rung)},
                            {"below", gap.below ? Json(name_of(*gap.below)) : Json()},
                            {"verdict", name_of(gap.verdict)},
                            {"text", sentence_of(gap)}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string ladder_comparison_csv(const LadderComparison& comparison) {
  std::string text;
  for (const ComparedRung& rung : comparison.rungs) {
    Json row = rung_json(rung);
    row["predicted_profile"] = comparison.predicted_profile;
    row["measured_profile"] = comparison.measured_profile;
    if (text.empty()) {
      for (const auto& [name, value] : row.items()) text += (text.empty() ? "" : ",") + name;
      text += "\n";
    }
    bool first = true;
    for (const Json& value : row) {
      if (!std::exchange(first, false)) text += ",";
      if (value.is_string()) text += csv_field(value.get<std::string>());
      if (value.is_number()) text += value.dump();
    }
    text += "\n";
  }
  return text;
}

}  // namespace gradhaul

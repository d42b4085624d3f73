#include "analysis/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "analysis/quantity_text.h"
#include "analysis/resource_group.h"
#include "analysis/row_agreement.h"

namespace gradhaul {
namespace {

// Order of a table: by size, out of place before in place.
using RowKey = std::tuple<std::int64_t, int>;

RowKey key_of(const ComparedRow& row) {
  return {row.size_bytes, row.in_place ? (*row.in_place ? 2 : 1) : 0};
}

struct Repeated {
  ComparedRow median;
  int repeats = 1;
};

// Rows of one size and place together: the median of their times; of an even number the lower.
std::map<RowKey, Repeated> medians(const std::vector<ComparedRow>& rows) {
  std::map<RowKey, std::vector<const ComparedRow*>> groups;
  for (const ComparedRow& row : rows) groups[key_of(row)].push_back(&row);
  std::map<RowKey, Repeated> result;
  for (auto& [key, group] : groups) {
    const auto middle = group.begin() + static_cast<std::ptrdiff_t>((group.size() - 1) / 2);
    std::nth_element(group.begin(), middle, group.end(),
                     [](const ComparedRow* a, const ComparedRow* b) {
                       return std::tuple(a->time_us, a->line) < std::tuple(b->time_us, b->line);
                     });
    Repeated repeated{**middle, static_cast<int>(group.size())};
    // Wrong once is wrong.
    for (const ComparedRow* row : group) {
      if (row->wrong && *row->wrong > repeated.median.wrong.value_or(0)) {
        repeated.median.wrong = row->wrong;
      }
    }
    result.emplace(key, std::move(repeated));
  }
  return result;
}

// nccl-tests rounds sizes down to what its ranks and its alignment of 16 bytes divide.
bool same_size(const ComparedRow& predicted, const ComparedRow& measured) {
  const std::int64_t off = std::abs(predicted.size_bytes - measured.size_bytes);
  if (off == 0) return true;
  const std::int64_t most = std::int64_t{16} * predicted.ranks.value_or(1);
  return off < most && static_cast<double>(off) < 0.01 * static_cast<double>(predicted.size_bytes);
}

const ComparedRow* predicted_for(const ComparedRow& measured,
                                 const std::vector<ComparedRow>& rows) {
  const ComparedRow* nearest = nullptr;
  std::int64_t least = 0;
  for (const ComparedRow& row : rows) {
    if (!same_size(row, measured)) continue;
    // A prediction for one place only is for that one.
    if (row.in_place && measured.in_place && *row.in_place != *measured.in_place) continue;
    const std::int64_t off = std::abs(row.size_bytes - measured.size_bytes);
    if (nearest == nullptr || off < least) {
      nearest = &row;
      least = off;
    }
  }
  return nearest;
}

void append(std::string& remark, const std::string& text) {
  if (text.empty()) return;
  if (!remark.empty()) remark += "; ";
  remark += text;
}

Verdict judge(const ComparedPair& pair, double tolerance) {
  if (pair.measured.wrong && *pair.measured.wrong >= 1) return Verdict::kWrong;
  // A hair of slack, so that exactly the tolerance is within it.
  if (pair.time_ratio > 1 + tolerance + 1e-9) return Verdict::kSlower;
  if (pair.time_ratio < 1 - tolerance - 1e-9) return Verdict::kFaster;
  return Verdict::kWithin;
}

// The share of its time that a predicted message spends on moving data over the resource that
// it spends most on: what is left of it in a long stream.
double moving_share(const ComparedRow& predicted) {
  std::map<std::string, double> moving;
  double most = 0;
  for (const auto& [name, us] : predicted.parts_us) {
    const std::size_t colon = name.find(": busy");
    if (colon == std::string::npos) continue;
    double& sum = moving[shape_of(name.substr(0, colon))];
    sum += us;
    most = std::max(most, sum);
  }
  return most / predicted.time_us;
}

// Messages in a stream hide each other's latency: that they come faster than one of them alone
// takes is a fault of the prediction only where even the moving of data is outrun.
void judge_stream(ComparedPair& pair, double tolerance) {
  append(pair.remark, fmt::format("{:.1f} Gb/s", pair.measured.algbw_GBps * 8));
  if (pair.verdict != Verdict::kFaster) return;
  const double share = moving_share(pair.predicted);
  if (share > 0 && pair.time_ratio < share * (1 - tolerance)) return;
  pair.verdict = Verdict::kUnjudged;
  append(pair.remark, share > 0
                          ? fmt::format("{} of the predicted time moves data, a stream hides the "
                                        "rest",
                                        percent_text(share))
                          : std::string("a stream hides latency"));
}

// A collective library's part of a predicted send: launches, flags, copies by kernels.
bool is_of_kernels(const std::string& part) {
  return part.starts_with("kernel ") || part.ends_with(".reduce: busy");
}

void take_kernels_off(ComparedPair& pair) {
  ComparedRow& row = pair.predicted;
  double off = 0;
  for (const auto& [name, us] : row.parts_us) {
    if (is_of_kernels(name)) off += us;
  }
  if (off <= 0 || off >= row.time_us) return;
  append(pair.remark,
         fmt::format("predicted {:.2f} us, less {:.2f} us of kernels", row.time_us, off));
  const double share = (row.time_us - off) / row.time_us;
  row.time_us -= off;
  row.algbw_GBps /= share;
  if (row.busbw_GBps) *row.busbw_GBps /= share;
  std::erase_if(row.parts_us, [](const auto& part) { return is_of_kernels(part.first); });
}

ComparedPair pair_of(const ComparedRow& predicted, const Repeated& repeated,
                     const Comparison& comparison) {
  ComparedPair pair;
  pair.predicted = predicted;
  pair.measured = repeated.median;
  pair.repeats = repeated.repeats;
  if (pair.measured.without_kernels) take_kernels_off(pair);
  pair.time_ratio = pair.measured.time_us / pair.predicted.time_us;
  const ComparedRow& expected = pair.predicted;
  if (expected.busbw_GBps && *expected.busbw_GBps > 0 && expected.algbw_GBps > 0) {
    if (!pair.measured.busbw_GBps) {
      pair.measured.busbw_GBps =
          pair.measured.algbw_GBps * *expected.busbw_GBps / expected.algbw_GBps;
    }
    pair.busbw_ratio = *pair.measured.busbw_GBps / *expected.busbw_GBps;
  }
  pair.verdict = judge(pair, comparison.tolerance);
  if (pair.verdict == Verdict::kWrong) {
    append(pair.remark, fmt::format("{:g} wrong values", *pair.measured.wrong));
  }
  if (pair.measured.streamed) judge_stream(pair, comparison.tolerance);
  if (pair.measured.min_us && pair.measured.p99_us) {
    append(pair.remark,
           fmt::format("min {:.4g}, p99 {:.4g} us", *pair.measured.min_us, *pair.measured.p99_us));
  }
  if (pair.repeats > 1) append(pair.remark, fmt::format("median of {}", pair.repeats));
  append(pair.remark, choice_remark(predicted, pair.measured, comparison.measured.nccl));
  return pair;
}

void lay_side_by_side(Comparison& comparison) {
  std::set<std::int64_t> used;
  std::set<std::int64_t> missing;
  for (const auto& [key, repeated] : medians(comparison.measured.rows)) {
    const ComparedRow* predicted = predicted_for(repeated.median, comparison.predicted.rows);
    if (predicted == nullptr) {
      missing.insert(repeated.median.size_bytes);
      continue;
    }
    used.insert(predicted->size_bytes);
    comparison.pairs.push_back(pair_of(*predicted, repeated, comparison));
  }
  std::set<std::int64_t> left;
  for (const ComparedRow& row : comparison.predicted.rows) {
    if (!used.contains(row.size_bytes)) left.insert(row.size_bytes);
  }
  comparison.only_predicted.assign(left.begin(), left.end());
  comparison.only_measured.assign(missing.begin(), missing.end());
}

double distance(const ComparedPair& pair) { return std::abs(std::log(pair.time_ratio)); }

}  // namespace

std::size_t Comparison::sizes() const {
  std::set<std::int64_t> seen;
  for (const ComparedPair& pair : pairs) seen.insert(pair.predicted.size_bytes);
  return seen.size();
}

std::size_t Comparison::judged() const {
  return static_cast<std::size_t>(
      std::count_if(pairs.begin(), pairs.end(),
                    [](const ComparedPair& pair) { return pair.verdict != Verdict::kUnjudged; }));
}

std::size_t Comparison::outside() const {
  return static_cast<std::size_t>(
      std::count_if(pairs.begin(), pairs.end(), [](const ComparedPair& pair) {
        return pair.verdict != Verdict::kUnjudged && pair.verdict != Verdict::kWithin;
      }));
}

std::optional<std::size_t> Comparison::worst() const {
  std::optional<std::size_t> worst;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (pairs[i].verdict == Verdict::kUnjudged) continue;
    if (!worst || distance(pairs[i]) > distance(pairs[*worst])) worst = i;
  }
  return worst;
}

double Comparison::median_ratio() const {
  std::vector<double> ratios;
  for (const ComparedPair& pair : pairs) {
    if (pair.verdict != Verdict::kUnjudged) ratios.push_back(pair.time_ratio);
  }
  if (ratios.empty()) return 0;
  std::sort(ratios.begin(), ratios.end());
  const std::size_t middle = ratios.size() / 2;
  return ratios.size() % 2 == 1 ? ratios[middle] : (ratios[middle - 1] + ratios[middle]) / 2;
}

Comparison compare(ComparedRun predicted, ComparedRun measured, double tolerance) {
  Comparison comparison;
  comparison.tolerance = tolerance;
  comparison.notes = measured.notes;
  comparison.notes.insert(comparison.notes.begin(), predicted.notes.begin(), predicted.notes.end());
  require_agreement(predicted, measured, comparison.notes);
  comparison.findings = findings_of(predicted, measured);
  comparison.predicted = std::move(predicted);
  comparison.measured = std::move(measured);
  lay_side_by_side(comparison);
  return comparison;
}

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kWithin:
      return "within";
    case Verdict::kSlower:
      return "slower";
    case Verdict::kFaster:
      return "faster";
    case Verdict::kWrong:
      return "wrong";
    case Verdict::kUnjudged:
      break;
  }
  return "not judged";
}

}  // namespace gradhaul

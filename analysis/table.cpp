#include "analysis/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "analysis/plan_columns.h"
#include "analysis/quantity_text.h"
#include "core/busbw.h"
#include "core/workload_names.h"

namespace gradhaul {
namespace {

// Names of data types as nccl-tests prints them.
std::string_view nccl_name(DataType type) {
  switch (type) {
    case DataType::kFp32:
      return "float";
    case DataType::kFp16:
      return "half";
    case DataType::kBf16:
      return "bfloat16";
    case DataType::kInt32:
    case DataType::kInt8:
    case DataType::kUint8:
      break;
  }
  return name_of(type);
}

std::string_view nccl_reduction(const ResultRow& row) {
  const bool reduces = row.collective == Collective::kAllReduce ||
                       row.collective == Collective::kReduceScatter ||
                       row.collective == Collective::kSendRecv;  // its test runs over all of them
  return reduces ? name_of(row.reduction) : std::string_view("none");
}

// nccl-tests' column is the count handed to the collective, which for these is one rank's share.
std::int64_t nccl_count(const ResultRow& row) {
  const std::int64_t elements = row.size.count / size_of(row.datatype).count;
  const bool per_rank = row.collective == Collective::kReduceScatter ||
                        row.collective == Collective::kAllGather ||
                        row.collective == Collective::kAllToAll;
  return per_rank ? elements / row.ranks : elements;
}

std::string nccl_time(double microseconds) {
  if (microseconds >= 10000) return fmt::format("{:7.0f}", microseconds);
  if (microseconds >= 100) return fmt::format("{:7.1f}", microseconds);
  return fmt::format("{:7.2f}", microseconds);
}

double busbw_gigabytes(const ResultRow& row) {
  return busbw(row.collective, row.ranks, row.size, row.time) / 1e9;
}

// "ring", or "ring, double_binary_tree" where rows differ.
std::string all_of(const std::vector<ResultRow>& rows, std::string ResultRow::*field) {
  std::set<std::string> seen;
  std::string result;
  for (const ResultRow& row : rows) {
    if (!seen.insert(row.*field).second) continue;
    if (!result.empty()) result += "+";
    result += row.*field;
  }
  return result.empty() ? "-" : result;
}

// Jobs may each have their own, beside the one that the scenario names for all.
std::string profiles_of(const std::vector<ResultRow>& rows, const RunDescription& run) {
  return rows.empty() ? run.profile : all_of(rows, &ResultRow::profile);
}

// The three lines of column heads; `further` are what comes after nccl-tests' own.
std::string column_heads(std::string_view further, std::string_view further_units) {
  std::string text = fmt::format("# {0:>10}  {0:>12}  {0:>8}  {0:>6}  {0:>6}", "");
  text += "           out-of-place                       in-place          \n";
  text += fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}", "size", "count", "type", "redop",
                      "root");
  const std::string names =
      fmt::format("  {:>7}  {:>6}  {:>6} {:>6}", "time", "algbw", "busbw", "#wrong");
  text += fmt::format("{0}{0}{1}\n", names, further);
  text += fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}", "(B)", "(elements)", "", "", "");
  const std::string units =
      fmt::format("  {:>7}  {:>6}  {:>6}  {:>5}", "(us)", "(GB/s)", "(GB/s)", "");
  return text + fmt::format("{0}{0}{1}\n", units, further_units);
}

std::string row_start(const ResultRow& row) {
  const int root = row.collective == Collective::kBroadcast ? 0 : -1;
  return fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}", row.size.count, nccl_count(row),
                     nccl_name(row.datatype), nccl_reduction(row), root);
}

std::string half_row(const ResultRow& row, std::string_view wrong) {
  return fmt::format("  {:>7}  {:6.2f}  {:6.2f}  {:>5}", nccl_time(microseconds(row.time)),
                     algbw(row.size, row.time) / 1e9, busbw_gigabytes(row), wrong);
}

std::size_t widest_limit(const std::vector<ResultRow>& rows) {
  std::size_t width = std::string_view("limited by").size();
  for (const ResultRow& row : rows) width = std::max(width, row.limited_by.size());
  return width;
}

double mean_busbw(const std::vector<ResultRow>& rows) {
  double sum = 0;
  for (const ResultRow& row : rows) sum += busbw_gigabytes(row);
  return rows.empty() ? 0 : sum / static_cast<double>(rows.size());
}

// The blank at the end is nccl-tests' own.
std::string foot(std::size_t out_of_bounds, double mean) {
  return fmt::format("# Out of bounds values : {} {}\n# Avg bus bandwidth    : {:g} \n#\n",
                     out_of_bounds, out_of_bounds == 0 ? "OK" : "FAILED", mean);
}

std::string measured_half(const ResultRow* row) {
  if (row == nullptr) return fmt::format("  {0:>7}  {0:>6}  {0:>6}  {0:>5}", "N/A");
  return half_row(*row, fmt::format("{}", row->measured->wrong));
}

std::string spread(const ResultRow* row) {
  if (row == nullptr) return fmt::format("   {0:>5}  {0:>7}  {0:>7}  {0:>7}", "N/A");
  const IterationTimes& times = *row->measured;
  return fmt::format("   {:>5}  {:>7}  {:>7}  {:>7}", times.iterations,
                     nccl_time(microseconds(times.min)), nccl_time(microseconds(times.p50)),
                     nccl_time(microseconds(times.p99)));
}

// The row of the other half of the same size, if it follows.
const ResultRow* in_place_after(const std::vector<ResultRow>& rows, std::size_t index) {
  const std::size_t next = index + 1;
  return next < rows.size() && rows[next].measured->in_place ? &rows[next] : nullptr;
}

}  // namespace

std::string table_head(const Prediction& prediction, const RunDescription& run) {
  std::string text = fmt::format(
      "# gradhaul {}: scenario {}, cluster {}, profile {}, algorithm {}, protocol {}, channels {}, "
      "fidelity {}, seed {}\n#\n",
      run.version, run.scenario, run.cluster, profiles_of(prediction.rows, run),
      all_of(prediction.rows, &ResultRow::algorithm), all_of(prediction.rows, &ResultRow::protocol),
      prediction.channels, prediction.fidelity, prediction.seed);
  const bool jobs = std::any_of(prediction.rows.begin(), prediction.rows.end(),
                                [](const ResultRow& row) { return !row.job.empty(); });
  const PlanColumns plans(prediction.rows);
  if (!plans.shown()) {
    return text + column_heads(jobs ? "   limited by   job" : "   limited by", "");
  }
  const std::string limited = fmt::format("   {:<{}}", "limited by", widest_limit(prediction.rows));
  return text + column_heads(limited + plans.names(), "");
}

std::string table_row(const ResultRow& row) {
  const std::string half = half_row(row, "N/A");
  const std::string job = row.job.empty() ? "" : "   " + row.job;
  return fmt::format("{}{}{}   {}{}\n", row_start(row), half, half, row.limited_by, job);
}

std::string table_rows(const Prediction& prediction) {
  const PlanColumns plans(prediction.rows);
  const std::size_t width = plans.shown() ? widest_limit(prediction.rows) : 0;
  std::string text;
  for (const ResultRow& row : prediction.rows) {
    std::string line = table_row(row);
    line.pop_back();
    if (row.limited_by.size() < width) line.append(width - row.limited_by.size(), ' ');
    text += line + plans.of(row) + "\n";
  }
  return text;
}

std::string table_foot(const Prediction& prediction) {
  return foot(0, mean_busbw(prediction.rows));
}

std::string table_head(const Measurement& measurement, const RunDescription& run) {
  std::string facts;
  for (const auto& [name, value] : measurement.facts) facts += fmt::format(", {} {}", name, value);
  std::string text = fmt::format(
      "# gradhaul {}: scenario {}, ranks as of {}, profile {}, algorithm {}, protocol {}, "
      "channels {}, measured over backend {}{}\n#\n",
      run.version, run.scenario, run.cluster, profiles_of(measurement.rows, run),
      all_of(measurement.rows, &ResultRow::algorithm),
      all_of(measurement.rows, &ResultRow::protocol), measurement.channels, measurement.backend,
      facts);
  const std::string names =
      fmt::format("   {:>5}  {:>7}  {:>7}  {:>7}", "iters", "min", "p50", "p99");
  const std::string units =
      fmt::format("   {:>5}  {:>7}  {:>7}  {:>7}", "", "(us)", "(us)", "(us)");
  return text + column_heads(names + names + PlanColumns(measurement.rows).names(), units + units);
}

std::string table_rows(const Measurement& measurement) {
  const PlanColumns plans(measurement.rows);
  std::string text;
  for (std::size_t i = 0; i < measurement.rows.size(); ++i) {
    const ResultRow& row = measurement.rows[i];
    if (row.measured->in_place) continue;
    const ResultRow* in_place = in_place_after(measurement.rows, i);
    text += fmt::format("{}{}{}{}{}{}\n", row_start(row), measured_half(&row),
                        measured_half(in_place), spread(&row), spread(in_place), plans.of(row));
  }
  return text;
}

std::string table_foot(const Measurement& measurement) {
  // What looked at no value has none that is right.
  if (measurement.rows.empty()) return "# No size was finished, and no value was looked at.\n#\n";
  const auto wrong = [](const ResultRow& row) { return row.measured->wrong > 0; };
  const auto halves = std::count_if(measurement.rows.begin(), measurement.rows.end(), wrong);
  return foot(static_cast<std::size_t>(halves), mean_busbw(measurement.rows));
}

}  // namespace gradhaul

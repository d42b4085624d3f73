#include "analysis/table.h"

#include <fmt/format.h>

#include <set>
#include <string_view>
#include <vector>

#include "analysis/quantity_text.h"
#include "analysis/result_names.h"
#include "core/busbw.h"

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

}  // namespace

std::string table_head(const Prediction& prediction, const RunDescription& run) {
  std::string text = fmt::format(
      "# gradhaul {}: scenario {}, cluster {}, profile {}, algorithm {}, protocol {}, channels {}, "
      "fidelity {}, seed {}\n#\n",
      run.version, run.scenario, run.cluster, run.profile,
      all_of(prediction.rows, &ResultRow::algorithm), all_of(prediction.rows, &ResultRow::protocol),
      prediction.channels, prediction.fidelity, prediction.seed);
  text += fmt::format("# {0:>10}  {0:>12}  {0:>8}  {0:>6}  {0:>6}", "");
  text += "           out-of-place                       in-place          \n";
  text += fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}", "size", "count", "type", "redop",
                      "root");
  const std::string names =
      fmt::format("  {:>7}  {:>6}  {:>6} {:>6}", "time", "algbw", "busbw", "#wrong");
  text += names + names + "   limited by\n";
  text += fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}", "(B)", "(elements)", "", "", "");
  const std::string units =
      fmt::format("  {:>7}  {:>6}  {:>6}  {:>5}", "(us)", "(GB/s)", "(GB/s)", "");
  return text + units + units + "\n";
}

std::string table_row(const ResultRow& row) {
  const int root = row.collective == Collective::kBroadcast ? 0 : -1;
  const std::string half =
      fmt::format("  {:>7}  {:6.2f}  {:6.2f}  {:>5}", nccl_time(microseconds(row.time)),
                  algbw(row.size, row.time) / 1e9, busbw_gigabytes(row), "N/A");
  return fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}{}{}   {}\n", row.size.count,
                     nccl_count(row), nccl_name(row.datatype), nccl_reduction(row), root, half,
                     half, row.limited_by);
}

std::string table_foot(const Prediction& prediction) {
  double sum = 0;
  for (const ResultRow& row : prediction.rows) sum += busbw_gigabytes(row);
  const double mean =
      prediction.rows.empty() ? 0 : sum / static_cast<double>(prediction.rows.size());
  // The blank at the end is nccl-tests' own.
  return fmt::format("# Out of bounds values : 0 OK\n# Avg bus bandwidth    : {:g} \n#\n", mean);
}

}  // namespace gradhaul

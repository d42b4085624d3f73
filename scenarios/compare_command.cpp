#include "scenarios/compare_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "analysis/comparison.h"
#include "analysis/comparison_files.h"
#include "analysis/comparison_report.h"
#include "analysis/input_error.h"
#include "analysis/log_lines.h"
#include "analysis/read_run.h"
#include "analysis/write_file_whole.h"
#include "scenarios/exit_status.h"
#include "scenarios/ladder_command.h"
#include "scenarios/result_files_command.h"

namespace gradhaul {
namespace {

// "10%" -> 0.1; nothing where it is no percentage.
std::optional<double> tolerance_of(std::string_view text) {
  if (!text.ends_with('%')) return std::nullopt;
  text.remove_suffix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  const auto percent = number_of(text);
  if (!percent || *percent < 0 || *percent > 1000) return std::nullopt;
  return *percent / 100;
}

// Why there is nothing to judge; empty where there is.
std::string nothing_judged(const Comparison& comparison) {
  if (comparison.judged() > 0) return "";
  if (comparison.measured.rows.empty()) {
    return fmt::format("{}: nothing to compare times with: {}", comparison.measured.source,
                       comparison.measured.why_empty);
  }
  if (!comparison.pairs.empty()) return "no row could be judged; the table says why";
  const auto range = [](const ComparedRun& run) {
    std::int64_t least = run.rows.front().size_bytes;
    std::int64_t most = least;
    for (const ComparedRow& row : run.rows) {
      least = std::min(least, row.size_bytes);
      most = std::max(most, row.size_bytes);
    }
    return least == most ? fmt::format("{} B", least) : fmt::format("{} to {} B", least, most);
  };
  return fmt::format(
      "no size is on both sides: predicted {}, measured {}; predict the measured "
      "ones (--set 'workload.size=[…]')",
      range(comparison.predicted), range(comparison.measured));
}

int compare_files(const CompareOptions& options, const CommandContext& context) {
  const auto tolerance = tolerance_of(options.tolerance);
  if (!tolerance) {
    complain(fmt::format("--tolerance {}: is no percentage from 0% to 1000%, as 10% or 2.5%",
                         options.tolerance));
    return kBadInput;
  }
  if (options.predicted == "-" && options.measured == "-") {
    complain("only one of the two can be standard input");
    return kBadInput;
  }
  const ResultFiles files{options.json, options.csv};
  check_result_files(files);
  const Picture picture(options.picture, {"auto"}, context);
  if (const auto status = compare_ladder_files(options, *tolerance, context, picture))
    return *status;
  ComparedRun predicted = read_run_file(options.predicted);
  ComparedRun measured = read_run_file(options.measured);
  const Comparison comparison = compare(std::move(predicted), std::move(measured), *tolerance);
  const bool printed = print(comparison_report(comparison, context.version));
  if (!printed) complain("standard output could not be written");
  const auto json = [&] { return comparison_json_text(comparison, context.version); };
  const bool written = write_texts(files, json, [&] { return comparison_csv(comparison); });
  // Of no rows there is no picture; why there are none is told below.
  const bool drawn = comparison.pairs.empty() || picture.draw(json);
  if (!printed || !written || !drawn) return kRunFailed;
  if (const std::string why = nothing_judged(comparison); !why.empty()) {
    complain(why);
    return kBadInput;
  }
  return comparison.outside() == 0 ? kDone : kOutsideExpectation;
}

}  // namespace

int run_compare(const CompareOptions& options, const CommandContext& context) {
  try {
    return compare_files(options, context);
  } catch (const InputError& error) {
    complain(error.what());
  } catch (const Incomparable& error) {
    complain(fmt::format("{} and {} cannot be compared: {}", options.predicted, options.measured,
                         error.what()));
  } catch (const FileError& error) {
    complain(error.what());
  }
  return kBadInput;
}

}  // namespace gradhaul

#include "scenarios/report_command.h"

#include <fmt/format.h>

#include <optional>

#include "analysis/comparison.h"
#include "analysis/comparison_files.h"
#include "analysis/html_report.h"
#include "analysis/input_error.h"
#include "analysis/read_run.h"
#include "analysis/stored_result.h"
#include "analysis/write_file_whole.h"
#include "scenarios/drawn_pictures_command.h"
#include "scenarios/exit_status.h"
#include "scenarios/references.h"

namespace gradhaul {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kTolerance = 0.1;  // compare's default

ReportedFile read_reported(const std::string& name) {
  Problems problems;
  const auto text = read_file(name, {name, 0, 0}, problems, kResultLimit);
  if (!text) throw ConfigError(problems.sorted());
  ReportedFile file{name, {}, {}};
  try {
    file.content = stored_json(*text);
  } catch (const StoredResultError& error) {
    throw ReportError(
        fmt::format("{}: {}; a report is made of what predict, measure, compare or "
                    "sweep write with --json",
                    name, error.what()));
  }
  if (kind_of_file(file.content) == ReportedKind::kNone) {
    throw ReportError(name +
                      ": is none of the files that a report is made of: those that predict, "
                      "measure, compare and sweep write with --json");
  }
  return file;
}

// Of two results that go together, beside each other.
std::optional<ReportedFile> comparison_of(const std::vector<ReportedFile>& files,
                                          const std::string& version) {
  if (files.size() != 2) return std::nullopt;
  for (const ReportedFile& file : files) {
    if (kind_of_file(file.content) != ReportedKind::kResult) return std::nullopt;
  }
  const auto measured = [](const ReportedFile& file) {
    return file.content.at("kind") != "predicted";
  };
  const bool turned = measured(files[0]) && !measured(files[1]);
  const ReportedFile& first = files[turned ? 1 : 0];
  const ReportedFile& second = files[turned ? 0 : 1];
  if (measured(first) || !measured(second)) return std::nullopt;
  const Comparison comparison =
      compare(read_run_file(first.name), read_run_file(second.name), kTolerance);
  return ReportedFile{first.name, Json::parse(comparison_json_text(comparison, version)), {}};
}

std::string section(const ReportedFile& file) {
  switch (kind_of_file(file.content)) {
    case ReportedKind::kComparison:
      return comparison_section(file);
    case ReportedKind::kSweep:
      return sweep_section(file);
    default:
      return result_section(file);
  }
}

int report_files(const ReportOptions& options, const CommandContext& context) {
  if (!options.html.empty()) require_writable(options.html);
  std::vector<ReportedFile> files;
  for (const std::string& name : options.files) files.push_back(read_reported(name));
  if (auto comparison = comparison_of(files, context.version)) {
    files.insert(files.begin(), std::move(*comparison));
  }
  if (!options.no_pictures) {
    DrawnPictures pictures(context);
    for (ReportedFile& file : files) pictures.draw(file);
    if (!files.front().pictures.empty() && files.front().pictures.front().svg.empty()) {
      complain("not drawn: " + files.front().pictures.front().missing);
    }
  }
  std::string body;
  for (const ReportedFile& file : files) body += section(file);
  const std::string page = html_page(title_of(files.front()), body);
  if (!options.html.empty()) {
    write_file_whole(options.html, page);
    return kDone;
  }
  if (print(page)) return kDone;
  complain("standard output could not be written");
  return kRunFailed;
}

}  // namespace

int run_report(const ReportOptions& options, const CommandContext& context) {
  try {
    return report_files(options, context);
  } catch (const ConfigError& error) {
    print_problems(error);
  } catch (const ReportError& error) {
    complain(error.what());
  } catch (const InputError& error) {
    complain(error.what());
  } catch (const Incomparable& error) {
    complain(fmt::format("the two cannot be compared: {}", error.what()));
  } catch (const FileError& error) {
    complain(error.what());
  } catch (const Json::exception& error) {
    complain(fmt::format("a file is not what gradhaul writes: {}", error.what()));
  }
  return kBadInput;
}

}  // namespace gradhaul

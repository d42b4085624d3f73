#include "scenarios/trace_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "analysis/report.h"
#include "analysis/trace_json.h"
#include "core/prediction_request.h"
#include "scenarios/did_you_mean.h"
#include "scenarios/quantity.h"
#include "sim/fabric.h"

namespace gradhaul {
namespace {

// The two sides of "a..b"; the same twice without dots.
std::pair<std::string, std::string> sides(const std::string& text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) return {text, text};
  return {text.substr(0, dots), text.substr(dots + 2)};
}

Rank parse_rank(const std::string& text, int ranks, const std::string& option) {
  const Parsed<std::int64_t> count = parse_count(text);
  if (!count.value || *count.value < 0 || *count.value >= ranks) {
    refuse(option,
           fmt::format("\"{}\" is no rank; there are 0 to {}, as 0,1 or 8..15", text, ranks - 1));
  }
  return static_cast<Rank>(*count.value);
}

std::int64_t parse_time(const std::string& text, std::int64_t otherwise,
                        const std::string& option) {
  if (text.empty()) return otherwise;
  const Parsed<std::int64_t> time = parse_quantity(text, Dimension::kTime);
  if (!time.value) refuse(option, fmt::format("\"{}\" {}", text, time.error));
  return *time.value;
}

void check_links(const std::vector<std::string>& names, const RunRecorder& recorder,
                 const Cluster& cluster) {
  const Fabric fabric(cluster);
  std::vector<std::string> all;
  for (const Link& link : fabric.links()) all.push_back(link.name);
  for (const std::string& name : names) {
    RecordingSettings alone = recorder.settings();
    alone.links = {name};
    const RunRecorder watching(alone);
    const bool known = std::any_of(all.begin(), all.end(), [&](const std::string& link) {
      return watching.watches({link, ""});
    });
    if (known) continue;
    refuse("--trace-links " + name, fmt::format("no link is called so{}; there are {} to {}",
                                                did_you_mean(name, all), all.front(), all.back()));
  }
}

}  // namespace

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = text.find(',', begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos) return parts;
    begin = end + 1;
  }
}

std::set<Rank> parse_ranks(const std::string& text, int ranks, const std::string& option) {
  std::set<Rank> parsed;
  const std::string where = option + " " + text;
  for (const std::string& part : split_list(text)) {
    const auto [from, to] = sides(part);
    const Rank first = parse_rank(from, ranks, where);
    const Rank last = parse_rank(to, ranks, where);
    if (last < first) refuse(where, fmt::format("{} is before {}", last, first));
    for (Rank rank = first; rank <= last; ++rank) parsed.insert(rank);
  }
  return parsed;
}

std::pair<std::int64_t, std::int64_t> parse_window(const std::string& text,
                                                   const std::string& option) {
  const std::string where = option + " " + text;
  if (text.find("..") == std::string::npos) {
    refuse(where, "a window has two ends: 1ms..2ms, 1ms.. or ..2ms");
  }
  const auto [from, to] = sides(text);
  const std::int64_t begin = parse_time(from, 0, where);
  const std::int64_t end = parse_time(to, std::numeric_limits<std::int64_t>::max(), where);
  if (begin < 0 || end <= begin) {
    refuse(where, "a window begins at 0 or later, and ends after it begins");
  }
  return {begin, end};
}

TraceRecording::TraceRecording(const TraceOptions& options, const Scenario& scenario,
                               const CommandContext& context)
    : file_(options.file), program_("gradhaul " + context.version), scenario_(scenario.name) {
  if (file_.empty()) return;
  if (scenario.fidelity != Fidelity::kPacket) {
    refuse("--trace " + file_,
           "only simulation.fidelity=packet has slices and packets to trace; add --set "
           "simulation.fidelity=packet");
  }
  RecordingSettings settings;
  settings.most_events = options.most_events;
  settings.rows = static_cast<int>(scenario.workload.sizes.size());
  if (!options.window.empty()) {
    std::tie(settings.from, settings.until) = parse_window(options.window, "--trace-window");
  }
  if (!options.ranks.empty()) {
    settings.ranks = parse_ranks(options.ranks, scenario.cluster.ranks(), "--trace-ranks");
  }
  if (!options.links.empty()) settings.links = split_list(options.links);
  recorder_ = std::make_unique<RunRecorder>(settings);
  check_links(settings.links, *recorder_, scenario.cluster);
}

void TraceRecording::join(PredictionRequest& request) {
  if (recorder_ == nullptr) return;
  request.observer = recorder_.get();
  request.skip_recurrences = false;
}

bool TraceRecording::write(const Prediction& prediction) const {
  if (recorder_ == nullptr) return true;
  TraceDescription description{program_, scenario_, ""};
  if (!prediction.interrupted) description.digest = digest_text(prediction.digest);
  try {
    WholeFile file(file_);
    const std::int64_t events = write_trace(*recorder_, description, file);
    file.commit();
    complain(fmt::format("{}: {} events; open it in https://ui.perfetto.dev", file_, events));
  } catch (const FileError& error) {
    complain(error.what());
    return false;
  }
  const std::vector<std::string> left_out = left_out_of_trace(*recorder_);
  for (const std::string& sentence : left_out) complain(fmt::format("{}: {}", file_, sentence));
  if (!left_out.empty()) {
    complain("--trace-window and --trace-ranks narrow what is shown; --trace-limit allows more");
  }
  return true;
}

}  // namespace gradhaul

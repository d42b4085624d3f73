#include "scenarios/doctor_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "analysis/host_json.h"
#include "analysis/host_report.h"
#include "analysis/write_file_whole.h"
#include "backends/doctor/examine_host.h"
#include "backends/host/host_tree.h"
#include "scenarios/exit_status.h"
#include "scenarios/interruption.h"
#include "scenarios/node_draft_text.h"

namespace gradhaul {
namespace {

using Clock = std::chrono::steady_clock;

// "90s", "10m" or "10min", "1.5h", "2d", in seconds; nothing for anything else.
std::optional<double> parse_watch(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  std::string unit(end, text.data() + text.size());
  unit.erase(0, std::min(unit.find_first_not_of(' '), unit.size()));
  double seconds = 0;
  if (unit == "s") seconds = 1;
  if (unit == "m" || unit == "min") seconds = 60;
  if (unit == "h") seconds = 3600;
  if (unit == "d") seconds = 86400;
  constexpr double kLongest = 366.0 * 86400;
  const double watched = number * seconds;
  if (!(watched >= 1) || watched > kLongest) return std::nullopt;
  return watched;
}

// Until the time is over, or the user has had enough.
void wait(double seconds, const std::atomic<bool>& interrupted) {
  using namespace std::chrono_literals;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(seconds));
  while (!interrupted && Clock::now() < end) {
    std::this_thread::sleep_for(std::min<Clock::duration>(100ms, end - Clock::now()));
  }
}

HostCheckup check(const HostTree& tree, std::optional<double> watch) {
  const HostSnapshot first = take_snapshot(tree);
  if (!watch) return examine_host(first, nullptr, 0);
  const std::atomic<bool>& interrupted = catch_interruption();
  const auto start = Clock::now();
  complain(fmt::format("watching for {:.6g} s; Ctrl-C ends it sooner", *watch));
  wait(*watch, interrupted);
  const double waited = std::chrono::duration<double>(Clock::now() - start).count();
  const bool cut_short = interrupted;
  // What was asked for, where the clock ran a little further.
  const double seconds = cut_short ? std::max(std::min(waited, *watch), 0.001) : *watch;
  HostCheckup checkup = examine_host(take_snapshot(tree), &first, seconds);
  checkup.cut_short = cut_short;
  return checkup;
}

bool good_tree(const std::string& folder) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    complain(fmt::format("--sysfs {}: there is no such folder", folder));
    return false;
  }
  if (!std::filesystem::is_directory(folder + "/sys", error)) {
    complain(
        fmt::format("--sysfs {}: it has no folder sys; it is to hold sys/ and proc/ of a machine, "
                    "as hwloc-gather-topology copies them",
                    folder));
    return false;
  }
  return true;
}

int status_of(const HostCheckup& checkup) {
  if (checkup.cut_short) return kInterrupted;
  const bool problem =
      std::any_of(checkup.findings.begin(), checkup.findings.end(),
                  [](const Finding& finding) { return finding.severity == Severity::kProblem; });
  return problem ? kOutsideExpectation : kDone;
}

// This host, or the copy of another that stands for it.
HostTold named_host(const DoctorOptions& options) {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  HostTold told;
  told.host = options.sysfs.empty() ? name : fmt::format("{} on {}", options.sysfs, name);
  // Hosts may share a name, and not the number of a boot.
  const HostTree tree("/");
  told.identity = told.host + " " + tree.read("/proc/sys/kernel/random/boot_id").text;
  return told;
}

void tell(const HostCheckup& checkup, const CommandContext& context, HostTold& told) {
  told.looked = true;
  told.findings = host_faults(checkup);
  told.json = host_json(checkup, context.version);
  told.problem = status_of(checkup) == kOutsideExpectation;
}

}  // namespace

std::string HostTold::record() const {
  const nlohmann::json told = {{"host", host},     {"identity", identity},
                               {"looked", looked}, {"findings", findings},
                               {"json", json},     {"problem", problem}};
  return told.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::optional<HostTold> HostTold::of_record(const std::string& record) {
  const nlohmann::json json = nlohmann::json::parse(record, nullptr, false);
  try {
    HostTold told;
    json.at("host").get_to(told.host);
    json.at("identity").get_to(told.identity);
    json.at("looked").get_to(told.looked);
    json.at("findings").get_to(told.findings);
    json.at("json").get_to(told.json);
    json.at("problem").get_to(told.problem);
    return told;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

HostTold look_for_others(const DoctorOptions& options, const CommandContext& context, bool looks) {
  HostTold told = named_host(options);
  const std::optional<double> watch = parse_watch(options.watch);
  if (!looks || (!options.watch.empty() && !watch)) return told;
  HostCheckup checkup = check(HostTree(options.sysfs.empty() ? "/" : options.sysfs), watch);
  checkup.source = told.host;
  tell(checkup, context, told);
  return told;
}

int run_doctor(const DoctorOptions& options, const CommandContext& context, HostTold* told) {
  std::optional<double> watch;
  if (!options.watch.empty() && !(watch = parse_watch(options.watch))) {
    complain(
        fmt::format("--watch {}: a duration from 1s to 366d, as 90s, 10m or 1h", options.watch));
    return kBadInput;
  }
  if (!options.sysfs.empty() && !good_tree(options.sysfs)) return kBadInput;
  try {
    for (const std::string& file : {options.json, options.node_file}) {
      if (!file.empty()) require_writable(file);
    }
    const HostTree tree(options.sysfs.empty() ? "/" : options.sysfs);
    HostCheckup checkup = check(tree, watch);
    checkup.source = options.sysfs.empty() ? "this host" : options.sysfs;
    if (told != nullptr) {
      *told = named_host(options);
      tell(checkup, context, *told);
    }
    if (!options.json.empty()) write_file_whole(options.json, host_json(checkup, context.version));
    const bool drafted = !options.node_file.empty() && checkup.node.gpu_count > 0;
    if (drafted) {
      write_file_whole(options.node_file, node_draft_text(checkup.node, checkup.source));
    }
    if (!print(host_report(checkup, context.version))) {
      complain("standard output could not be written");
      return kRunFailed;
    }
    if (!options.node_file.empty() && !drafted) {
      complain(fmt::format("{}: not written: a node has at least one GPU, and none was found",
                           options.node_file));
      return kRunFailed;
    }
    return status_of(checkup);
  } catch (const FileError& error) {
    complain(error.what());
    return kBadInput;
  }
}

}  // namespace gradhaul

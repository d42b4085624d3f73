#include "scenarios/changed_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/command_context.h"

namespace gradhaul {
namespace {

constexpr double kLongRun = 10;  // seconds

std::string path_of(const std::string& setting) { return setting.substr(0, setting.find('=')); }

}  // namespace

std::vector<std::string> joined(const std::vector<std::string>& first,
                                const std::vector<std::string>& then) {
  std::vector<std::string> all;
  for (const std::string& setting : first) {
    const bool replaced = std::any_of(
        then.begin(), then.end(),
        [&setting](const std::string& later) { return path_of(later) == path_of(setting); });
    if (!replaced) all.push_back(setting);
  }
  all.insert(all.end(), then.begin(), then.end());
  return all;
}

void RunOfSeveral::on_progress(double done, Bytes row) {
  all_.on_progress((run_ + std::clamp(done, 0.0, 1.0)) / runs_, row);
}

void warn_of_runs(double seconds, int more, const std::string& shorter) {
  if (seconds < kLongRun || more == 0) return;
  complain(
      fmt::format("each of up to {} changes is a run like the first, which took {:.0f} s; "
                  "{}less exactly but sooner with --set simulation.fidelity=flow; Ctrl-C "
                  "keeps what is finished",
                  more, seconds, shorter));
}

}  // namespace gradhaul

#include "scenarios/check_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "scenarios/exit_status.h"
#include "scenarios/scenario.h"
#include "scenarios/sweep_plan.h"

namespace gradhaul {
namespace {

// Of a sweep, so many points are looked at.
constexpr std::size_t kMostPoints = 1000;

// What is wrong with points of its `vary`, each thing once.
bool check_points(const SweepPlan& plan) {
  std::set<std::string> seen;
  for (std::size_t point = 0; point < std::min(plan.points, kMostPoints); ++point) {
    try {
      scenario_at(plan, point);
    } catch (const ConfigError& error) {
      const std::string problem = point_problem(error);
      if (!seen.insert(problem).second) continue;
      const auto settings = settings_at(plan.axes, point);
      fmt::print(stderr, "{}: the point {} of its `vary` cannot be: {}\n", plan.scenario.file,
                 fmt::join(settings, ", "), problem);
    }
  }
  return seen.empty();
}

// What is wrong with them is told with all the rest.
bool has_axes(const ScenarioRequest& request) {
  try {
    return !read_axes(request).empty();
  } catch (const ConfigError&) {
    return false;
  }
}

// Its line, and whether all is good.
bool check(const std::string& name, const CheckOptions& options, const CommandContext& context,
           std::string& text) {
  const ScenarioRequest request{name, options.settings, context.library};
  const bool varies = has_axes(request);
  bool good = true;
  Scenario scenario;
  if (varies) {
    SweepOptions sweep;
    sweep.scenario = name;
    sweep.settings = options.settings;
    const SweepPlan plan = sweep_plan_of(sweep, context.library, context.version);
    good = check_points(plan);
    scenario = plan.scenario;
  } else {
    scenario = read_scenario(request);
  }
  if (good) text += fmt::format("{}: good\n", scenario.file);
  for (const std::string& note : scenario.all_notes()) {
    text += fmt::format("{}: note: {}\n", scenario.file, note);
  }
  return good;
}

}  // namespace

int run_check(const CheckOptions& options, const CommandContext& context) {
  int status = kDone;
  std::string text;
  for (const std::string& name : options.scenarios) {
    try {
      if (!check(name, options, context, text)) status = kBadInput;
    } catch (const ConfigError& error) {
      print_problems(error);
      status = kBadInput;
    }
  }
  if (!print(text) && status == kDone) {
    complain("standard output could not be written");
    status = kRunFailed;
  }
  return status;
}

}  // namespace gradhaul

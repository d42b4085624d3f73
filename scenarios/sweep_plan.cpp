#include "scenarios/sweep_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/goal_program.h"
#include "core/listed_program.h"
#include "scenarios/sha256.h"

namespace gradhaul {
namespace {

// So many points are looked at before a sweep begins, for one that can be read.
constexpr std::size_t kMostLookedAt = 1000;

ScenarioRequest request_for(const SweepPlan& plan, const std::vector<std::string>& values) {
  ScenarioRequest request{plan.options.scenario, plan.options.settings, plan.library, true};
  request.settings.insert(request.settings.end(), values.begin(), values.end());
  return request;
}

std::vector<SweepAxis> axes_of(const SweepPlan& plan) {
  Problems problems;
  const std::vector<SweepAxis> given = axes_of_options(plan.options.vary, problems);
  if (!problems.empty()) throw ConfigError(problems.sorted());
  std::vector<SweepAxis> axes =
      joined_axes(read_axes({plan.options.scenario, plan.options.settings, plan.library}), given);
  if (axes.empty()) {
    problems.add({"--vary", 0, 0},
                 "nothing varies: give PATH=A,B,C or PATH=FROM..TO:xFACTOR, as "
                 "cluster.nodes=2,4,8, or `vary:` in the scenario");
  }
  if (points_of(axes) > kMostSweepPoints) {
    problems.add({"--vary", 0, 0}, fmt::format("makes more than {} points", kMostSweepPoints));
  }
  if (!problems.empty()) throw ConfigError(problems.sorted());
  return axes;
}

// The scenario as it stands, or the first point that can be read. Where there is none, what is
// wrong is wrong with the sweep.
Scenario representative(const SweepPlan& plan) {
  std::optional<Scenario> first;
  std::optional<ConfigError> wrong;
  for (std::size_t point = 0; !first && point < std::min(plan.points, kMostLookedAt); ++point) {
    try {
      first = scenario_at(plan, point);
    } catch (const ConfigError& error) {
      if (!wrong) wrong = error;
    }
  }
  if (!first && plan.points <= kMostLookedAt) throw ConfigError(*wrong);
  try {
    return read_scenario(request_for(plan, {}));
  } catch (const ConfigError&) {
    if (first) return *first;
    throw;
  }
}

std::string likeness_of(const SweepPlan& plan) {
  std::string text = key_of(plan, plan.scenario);
  for (const SweepAxis& axis : plan.axes) {
    text += fmt::format("\n{}={}", axis.path, fmt::join(axis.values, "\x1f"));
  }
  return sha256(text);
}

}  // namespace

SweepPlan sweep_plan_of(const SweepOptions& options, const std::filesystem::path& library,
                        const std::string& version) {
  SweepPlan plan;
  plan.options = options;
  plan.library = library;
  plan.version = version;
  plan.axes = axes_of(plan);
  plan.points = points_of(plan.axes);
  plan.scenario = representative(plan);
  plan.likeness = likeness_of(plan);
  return plan;
}

Scenario scenario_at(const SweepPlan& plan, std::size_t point) {
  const std::vector<std::string> settings = settings_at(plan.axes, point);
  try {
    return read_scenario(request_for(plan, settings));
  } catch (const ConfigError& error) {
    throw ConfigError(told_at(error.problems(), settings, "--vary"));
  }
}

std::string key_of(const SweepPlan& plan, const Scenario& scenario) {
  return sha256(fmt::format(
      "{}\n{}\n{}\n{}", plan.version, plan.options.no_skip,
      fmt::format("{}{}",
                  scenario.communication.listed ? scenario.communication.listed->digest : "",
                  scenario.goal ? scenario.goal->digest : ""),
      scenario.effective().dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
}

std::string point_problem(const ConfigError& error) {
  std::string text;
  for (const Problem& problem : error.problems()) {
    const bool varied = problem.location.source.starts_with("--vary ");
    text +=
        fmt::format("{}{}", text.empty() ? "" : "; ", varied ? problem.message : problem.text());
  }
  return text;
}

}  // namespace gradhaul

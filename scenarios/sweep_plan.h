#pragma once

// What a sweep was asked: its axes, its points, and the scenario that each point makes.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/launched_rank.h"
#include "scenarios/progress_bar.h"
#include "scenarios/rendezvous_token.h"
#include "scenarios/scenario.h"

namespace gradhaul {

struct SweepOptions {
  std::string scenario;
  std::vector<std::string> settings;
  std::vector<std::string> vary;
  std::optional<int> jobs;
  std::string rendezvous;  // HOST:PORT
  GivenToken token;        // of the rendezvous
  std::string json;        // empty: none is written
  std::string csv;
  std::string plot;  // a picture; empty: none is drawn
  std::string plot_kind = "auto";
  ProgressMode progress = ProgressMode::kAuto;
  bool no_skip = false;
  std::optional<LaunchedRank> launched;  // as mpirun or srun says
};

struct SweepPlan {
  SweepOptions options;
  std::filesystem::path library;
  std::string version;
  std::vector<SweepAxis> axes;
  std::size_t points = 0;
  // As it stands; where it is whole only with what varies, the first point that can be read.
  Scenario scenario;
  // Of all that decides what comes out: ranks with the same work on the same sweep.
  std::string likeness;
};

// Throws ConfigError: what is wrong with the axes, or, where no point at all can be read, with the
// first of them.
SweepPlan sweep_plan_of(const SweepOptions& options, const std::filesystem::path& library,
                        const std::string& version);

// Throws ConfigError, with problems of what varies at --vary.
Scenario scenario_at(const SweepPlan& plan, std::size_t point);

// A hash of all that decides what comes out of a point.
std::string key_of(const SweepPlan& plan, const Scenario& scenario);

// What is wrong with a point, in one line; what varies is not named again.
std::string point_problem(const ConfigError& error);

}  // namespace gradhaul

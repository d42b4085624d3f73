#pragma once

// A scenario: what a user asks, checked and with every default filled in. See interface.md, section
// 2, for what its file may say.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/cluster.h"
#include "core/communication.h"
#include "core/prediction_request.h"
#include "core/training_step.h"
#include "core/workload.h"
#include "scenarios/expectation_reader.h"
#include "scenarios/filled_value.h"
#include "scenarios/sweep_axes.h"

namespace gradhaul {

struct Scenario {
  std::string name;
  std::string question;
  std::string file;    // as it was given, or found
  std::string sha256;  // of the file alone
  // A whole step instead of one collective; `workload` is its largest bucket's then.
  std::optional<TrainingStep> training_step;
  // A program instead of a collective; `workload` is as large as what a rank sends then.
  std::shared_ptr<const GoalProgram> goal;
  Workload workload;
  Communication communication;
  Cluster cluster;
  // Where there are jobs, they are what is run, and the workload is what they have in common.
  std::vector<Job> jobs;
  std::vector<BackgroundTraffic> background;
  Fidelity fidelity = Fidelity::kPacket;
  std::uint64_t seed = 1;
  std::vector<ExpectedValue> expectations;
  std::vector<SweepAxis> axes;     // of its `vary`
  std::vector<std::string> notes;  // what a user should know about how it was read
  // And about what is predicted of it, which need not hold where it is measured.
  std::vector<std::string> model_notes;
  FilledValue filled;

  std::vector<std::string> all_notes() const;
  // The filled-in scenario, for the result file.
  nlohmann::ordered_json effective() const { return json_of(filled); }
};

// What the scenario asks of a simulator.
PredictionRequest request_of(const Scenario& scenario);

struct ScenarioRequest {
  // A path, or the name of a shipped one. A result file stands for the scenario that it answers.
  std::string scenario;
  std::vector<std::string> settings;  // PATH=VALUE
  std::filesystem::path library;      // the folder of shipped scenarios
  // Without its `vary`: what varies is set by settings, or not at all.
  bool one_point = false;
};

// Throws ConfigError with everything that is wrong, and nothing else.
Scenario read_scenario(const ScenarioRequest& request);

// The axes of its `vary` alone: the rest may be incomplete without them. Throws ConfigError.
std::vector<SweepAxis> read_axes(const ScenarioRequest& request);

}  // namespace gradhaul

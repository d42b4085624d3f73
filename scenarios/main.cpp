// The gradhaul program: reads the command line, and lets a command do the rest.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/check_command.h"
#include "scenarios/command_context.h"
#include "scenarios/did_you_mean.h"
#include "scenarios/exit_status.h"
#include "scenarios/launched_rank.h"
#include "scenarios/measure_command.h"
#include "scenarios/predict_command.h"
#include "scenarios/rdma_settings_command.h"
#include "scenarios/show_command.h"

namespace gradhaul {
namespace {

const std::vector<std::string> kVerbs{"predict", "measure", "show", "check"};
// Verbs that other versions have.
const std::vector<std::string> kAbsentVerbs{"compare", "sweep",     "explain",
                                            "import",  "calibrate", "doctor"};

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Says what is wrong with the verb, if anything.
std::string verb_problem(const std::string& verb) {
  if (verb.empty() || verb.front() == '-' || contains(kVerbs, verb)) return "";
  if (contains(kAbsentVerbs, verb)) {
    return fmt::format("{} is not available in this version; it has {}", verb, join_or(kVerbs));
  }
  std::vector<std::string> all = kVerbs;
  all.insert(all.end(), kAbsentVerbs.begin(), kAbsentVerbs.end());
  return fmt::format("there is no command \"{}\"{}; this version has {}", verb,
                     did_you_mean(verb, all), join_or(kVerbs));
}

struct CommandLine {
  PredictOptions predict;
  MeasureOptions measure;
  std::string progress = "auto";
  std::string trace;
  std::string plot;
  ShowOptions show;
  CheckOptions check;
};

constexpr const char* kScenarioHelp = "A file, or the name of a shipped scenario";
constexpr const char* kSetHelp =
    "Change one value, as cluster.network.mtu=1024B or workload.size=[1MiB, 1GiB]";

// One value each time, so that a scenario may follow; a list such as [1, 2] stays one value.
void add_settings(CLI::App* command, std::vector<std::string>& settings) {
  command
      ->add_option_function<std::vector<std::string>>(
          "--set", [&settings](const std::vector<std::string>& values) { settings = values; },
          kSetHelp)
      ->type_name("PATH=VALUE")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
}

void add_predict(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand("predict", "How long, how much bandwidth, what limits");
  command->add_option("SCENARIO", line.predict.scenario, kScenarioHelp)->required();
  add_settings(command, line.predict.settings);
  command->add_option("--json", line.predict.json, "Write the result file")->type_name("FILE");
  command->add_option("--csv", line.predict.csv, "Write the rows")->type_name("FILE");
  command->add_option("--trace", line.trace, "Not available in this version")->type_name("FILE");
  command->add_option("--plot", line.plot, "Not available in this version")->type_name("FILE");
  command->add_flag("--no-skip", line.predict.no_skip,
                    "Simulate every packet, also what must be as another was");
  command->add_option("--progress", line.progress, "auto (on a terminal), on or off")
      ->check(CLI::IsMember({"auto", "on", "off"}))
      ->type_name("WHEN");
}

std::string rdma_names_text() {
  std::string text = "there are";
  for (const auto& [name, help] : rdma_setting_names()) text += " " + name + " (" + help + ")";
  return text;
}

void add_measure(CLI::App& app, CommandLine& line) {
  MeasureOptions& measure = line.measure;
  CLI::App* command = app.add_subcommand("measure", "The same on real ranks: timed and checked");
  command->add_option("SCENARIO", measure.scenario, kScenarioHelp)->required();
  command->add_option("--backend", measure.backend, "What moves the bytes: loopback, tcp or verbs")
      ->required()
      ->type_name("NAME");
  command
      ->add_option("--ranks", measure.ranks, "So many ranks, one a node, instead of the scenario's")
      ->check(CLI::Range(2, 1 << 20))
      ->type_name("N");
  command->add_option("--rank", measure.rank, "Be this rank; start the others yourself")
      ->check(CLI::Range(0, 1 << 20))
      ->type_name("R");
  command->add_option("--rendezvous", measure.rendezvous, "Where rank 0 listens")
      ->type_name("HOST:PORT");
  add_settings(command, measure.settings);
  command
      ->add_option_function<std::vector<std::string>>(
          "--rdma", [&measure](const std::vector<std::string>& values) { measure.rdma = values; },
          "Of verbs, as devices=mlx5_0 or gid_index=3; " + rdma_names_text())
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  command
      ->add_option("--iterations", measure.iterations,
                   "Timed runs of each size; without: up to 20, in some seconds")
      ->check(CLI::Range(1, 1 << 30))
      ->type_name("N");
  command->add_option("--warmup", measure.warmup, "Runs before these; without: up to 5")
      ->check(CLI::Range(0, 1 << 30))
      ->type_name("N");
  command->add_option("--timeout", measure.timeout, "Give up after so long without progress (30s)")
      ->type_name("TIME");
  command->add_option("--json", measure.json, "Write the result file")->type_name("FILE");
  command->add_option("--csv", measure.csv, "Write the rows")->type_name("FILE");
  command->add_option("--progress", line.progress, "auto (on a terminal), on or off")
      ->check(CLI::IsMember({"auto", "on", "off"}))
      ->type_name("WHEN");
  command->add_flag("--started-by-measure", measure.started_by_measure)->group("");
}

void add_show(CLI::App& app, CommandLine& line) {
  CLI::App* command =
      app.add_subcommand("show", "The scenario with every default filled in; the topology");
  command->add_option("SCENARIO", line.show.scenario, kScenarioHelp)->required();
  add_settings(command, line.show.settings);
  command->add_option("--dot", line.show.dot, "Draw the topology for Graphviz")->type_name("FILE");
}

void add_check(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand("check", "Validate scenarios, all errors at once");
  command->add_option("SCENARIO", line.check.scenarios, kScenarioHelp)->required();
  add_settings(command, line.check.settings);
}

std::optional<std::string> environment(const char* name) {
  const char* const value = *name == '\0' ? nullptr : std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

ProgressMode progress_mode(const std::string& word) {
  if (word == "on") return ProgressMode::kOn;
  return word == "off" ? ProgressMode::kOff : ProgressMode::kAuto;
}

int run(const CLI::App& app, CommandLine& line, const CommandContext& context) {
  if (app.got_subcommand("show")) return run_show(line.show, context);
  if (app.got_subcommand("measure")) {
    line.measure.progress = progress_mode(line.progress);
    line.measure.launched = launched_rank(environment);
    return run_measure(line.measure, context);
  }
  if (app.got_subcommand("check")) return run_check(line.check, context);
  for (const auto& [option, value] :
       {std::pair{"--trace", line.trace}, std::pair{"--plot", line.plot}}) {
    if (value.empty()) continue;
    complain(fmt::format("{} is not available in this version", option));
    return kBadInput;
  }
  line.predict.progress = progress_mode(line.progress);
  return run_predict(line.predict, context);
}

int main_of(int argc, char** argv) {
  if (const std::string problem = verb_problem(argc > 1 ? argv[1] : ""); !problem.empty()) {
    complain(problem);
    return kBadInput;
  }
  CLI::App app("gradhaul: how gradients move between GPUs, predicted from a scenario", "gradhaul");
  app.set_version_flag("--version", std::string("gradhaul ") + GRADHAUL_VERSION);
  app.require_subcommand(1);
  app.footer(fmt::format("Not in this version: {}.", fmt::join(kAbsentVerbs, ", ")));
  CommandLine line;
  line.measure.arguments.assign(argv + 1, argv + argc);
  add_predict(app, line);
  add_measure(app, line);
  add_show(app, line);
  add_check(app, line);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Help and version are "errors" of this library, with status 0.
    return app.exit(error) == 0 ? kDone : kBadInput;
  }
  return run(app, line, {GRADHAUL_SCENARIOS, GRADHAUL_VERSION});
}

}  // namespace
}  // namespace gradhaul

int main(int argc, char** argv) {
  try {
    return gradhaul::main_of(argc, argv);
  } catch (const std::exception& error) {
    // Out of memory, most likely: whatever else can happen has its own place.
    gradhaul::complain(error.what());
    return gradhaul::kRunFailed;
  }
}

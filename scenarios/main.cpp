// The gradhaul program: reads the command line, and lets a command do the rest.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/command_context.h"
#include "scenarios/command_line.h"
#include "scenarios/did_you_mean.h"
#include "scenarios/exit_status.h"
#include "scenarios/launched_rank.h"
#include "scenarios/rendezvous_token.h"

namespace gradhaul {
namespace {

const std::vector<std::string> kVerbs{"predict", "measure",   "compare", "sweep",
                                      "report",  "explain",   "show",    "check",
                                      "doctor",  "calibrate", "import"};

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Says what is wrong with the verb, if anything.
std::string verb_problem(const std::string& verb) {
  if (verb.empty() || verb.front() == '-' || contains(kVerbs, verb)) return "";
  return fmt::format("there is no command \"{}\"{}; this version has {}", verb,
                     did_you_mean(verb, kVerbs), join_or(kVerbs));
}

std::optional<std::string> environment(const char* name) {
  const char* const value = *name == '\0' ? nullptr : std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

ProgressMode progress_mode(const std::string& word) {
  if (word == "on") return ProgressMode::kOn;
  return word == "off" ? ProgressMode::kOff : ProgressMode::kAuto;
}

// This host's checklist; then, of a rank, what lies between hosts, with what all others found.
int run_doctor_of_all(CommandLine& line, const CommandContext& context) {
  const MeasureOptions& measure = line.doctor_ranks.measure;
  const bool with_ranks = !measure.backend.empty();
  if (!with_ranks && (!measure.scenario.empty() || measure.ranks || measure.rank)) {
    complain("a scenario and ranks are for measuring between hosts, which takes --backend too");
    return kBadInput;
  }
  const bool helps = measure.started_by_measure || measure.rank.value_or(0) > 0 ||
                     (measure.launched && measure.launched->rank > 0);
  HostTold told;
  int host = kDone;
  if (with_ranks && helps) {
    told = look_for_others(line.doctor, context, !measure.started_by_measure);
  } else {
    host = run_doctor(line.doctor, context, &told);
  }
  if (!with_ranks || (host != kDone && host != kOutsideExpectation)) return host;
  line.doctor_ranks.host = told.record();
  const int between = run_doctor_ranks(line.doctor_ranks, context);
  return between == kDone ? host : between;
}

int run(const CLI::App& app, CommandLine& line, const CommandContext& context) {
  const ProgressMode progress = progress_mode(line.progress);
  line.predict.progress = line.explain.progress = line.measure.progress = progress;
  line.sweep.progress = progress;
  line.measure.launched = line.sweep.launched = launched_rank(environment);
  line.calibrate.measure.launched = line.doctor_ranks.measure.launched = line.measure.launched;
  const std::string token = environment(kTokenVariable).value_or("");
  line.measure.token.environment = line.sweep.token.environment = token;
  line.calibrate.measure.token.environment = line.doctor_ranks.measure.token.environment = token;
  if (app.got_subcommand("measure")) return run_measure(line.measure, context);
  if (app.got_subcommand("calibrate")) return run_calibrate(line.calibrate, context);
  if (app.got_subcommand("compare")) return run_compare(line.compare, context);
  if (app.got_subcommand("report")) return run_report(line.report, context);
  if (app.got_subcommand("sweep")) return run_sweep(line.sweep, context);
  if (app.got_subcommand("explain")) return run_explain(line.explain, context);
  if (app.got_subcommand("show")) return run_show(line.show, context);
  if (app.got_subcommand("import")) return run_import(line.import, context);
  if (app.got_subcommand("check")) return run_check(line.check, context);
  if (app.got_subcommand("doctor")) return run_doctor_of_all(line, context);
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
  CommandLine line;
  line.measure.arguments.assign(argv + 1, argv + argc);
  line.calibrate.measure.arguments = line.measure.arguments;
  line.doctor_ranks.measure.arguments = line.measure.arguments;
  add_commands(app, line);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Help and version are "errors" of this library, with status 0.
    return app.exit(error) == 0 ? kDone : kBadInput;
  }
  return run(app, line, {GRADHAUL_SCENARIOS, GRADHAUL_VERSION, GRADHAUL_PLOTS});
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

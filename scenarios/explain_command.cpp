#include "scenarios/explain_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <optional>
#include <utility>

#include "analysis/explanation.h"
#include "analysis/remedies.h"
#include "analysis/run_difference.h"
#include "analysis/speed_text.h"
#include "analysis/stored_result.h"
#include "analysis/write_file_whole.h"
#include "scenarios/changed_run.h"
#include "scenarios/exit_status.h"
#include "scenarios/guarded_command.h"
#include "scenarios/interruption.h"
#include "scenarios/quantity.h"
#include "scenarios/references.h"
#include "scenarios/result_files_command.h"
#include "scenarios/scenario.h"
#include "scenarios/step_bucket.h"
#include "scenarios/what_if.h"
#include "sim/predict.h"

namespace gradhaul {
namespace {

constexpr std::string_view kOfLargestBucket =
    "Of the training step the collective of its largest bucket is explained, by itself; predict "
    "tells of the whole step.";

using Settings = std::vector<std::string>;

std::string command_line(const std::string& scenario, const Settings& settings) {
  std::string line = shell_word(scenario);
  for (const std::string& setting : settings) line += " --set " + shell_word(setting);
  return line;
}

// A scenario of one size: that which is explained.
struct Question {
  std::string name;  // as it was given
  Settings settings;
  Scenario scenario;
  std::size_t sizes = 1;  // that the scenario had
};

class Explainer {
 public:
  Explainer(const ExplainOptions& options, const CommandContext& context)
      : options_(options), context_(context), interrupted_(catch_interruption()) {}

  int explain() {
    auto stored = stored_result(options_.scenario);
    // What is explained of a step is not in its result.
    if (stored && options_.other.empty() && is_of_step(stored->scenario.effective)) stored.reset();
    if (!options_.other.empty()) return compare_results(stored);
    if (!options_.json.empty()) require_writable(options_.json);
    if (!options_.against.empty()) return compare_with_change(stored);
    return explain_one(stored);
  }

 private:
  // Nothing: it is no result file, or settings ask for another run of its scenario.
  std::optional<StoredResult> stored_result(const std::string& name) const {
    std::error_code error;
    if (!options_.settings.empty() || !std::filesystem::is_regular_file(name, error)) return {};
    Problems problems;
    const auto text = read_file(name, {name, 0, 0}, problems, kResultLimit);
    if (!text) throw ConfigError(problems.sorted());
    if (!is_stored_result(*text)) return {};
    try {
      return read_stored_result(*text);
    } catch (const StoredResultError& wrong) {
      problems.add({name, 0, 0}, wrong.what());
      throw ConfigError(problems.sorted());
    }
  }

  Scenario read(const std::string& name, const Settings& settings) const {
    return read_scenario({name, settings, context_.library});
  }

  Question question(std::optional<Bytes> size) const {
    Question question{options_.scenario, options_.settings,
                      read(options_.scenario, options_.settings)};
    if (question.scenario.training_step) {
      question.settings = bucket_settings(question.scenario, question.settings);
      question.scenario = read(question.name, question.settings);
      question.scenario.notes.emplace_back(kOfLargestBucket);
      return question;
    }
    const auto& sizes = question.scenario.workload.sizes;
    const Bytes asked = size.value_or(sizes.back());
    question.sizes = sizes.size();
    // Jobs have one each, and are asked together.
    if (!question.scenario.jobs.empty()) return question;
    if (sizes.size() > 1 || sizes.back() != asked) {
      question.settings = joined(question.settings, {"workload.size=" + format_bytes(asked)});
      question.scenario = read(question.name, question.settings);
    }
    return question;
  }

  // Without rows where it was interrupted.
  Prediction run(const Scenario& scenario, ProgressSink& progress) const {
    PredictionRequest request = request_of(scenario);
    request.progress = &progress;
    request.interrupted = &interrupted_;
    Prediction prediction = predict(request);
    if (!prediction.failure.empty()) throw SimulationError(prediction.failure);
    const std::vector<std::string> notes = scenario.all_notes();
    prediction.notes.insert(prediction.notes.begin(), notes.begin(), notes.end());
    return prediction;
  }

  Prediction run(const Scenario& scenario) const {
    ProgressBar progress(options_.progress);
    return run(scenario, progress);
  }

  int explain_one(const std::optional<StoredResult>& stored) {
    Explanation explanation;
    ScenarioRecord record;
    std::optional<Question> asked;
    if (stored) {
      explanation.prediction = stored->prediction;
      explanation.run = {stored->scenario.name, "", profile_of(stored->scenario.effective),
                         stored->version};
      record = stored->scenario;
      asked = question_of(*stored, explanation);
    } else {
      asked = question({});
      record = record_of_scenario(asked->scenario);
      explanation.prediction = run(asked->scenario);
      if (explanation.prediction.rows.empty()) return nothing_finished();
    }
    if (asked) {
      explanation.run = describe_run(asked->scenario.cluster, asked->scenario.communication,
                                     asked->scenario.name, context_.version);
      explanation.cluster = asked->scenario.cluster;
      explanation.stages = stages_data(asked->scenario.cluster, asked->scenario.communication);
      explanation.command = command_line(asked->name, asked->settings);
    }
    if (asked) note_of_sizes(*asked, explanation);
    if (explanation.untried.empty() && asked) try_changes(*asked, explanation);
    const int status = deliver(explanation_text(explanation),
                               [&] { return explanation_json(explanation, record); });
    if (status != kDone || !explanation.interrupted) return status;
    complain("interrupted; the changes that were finished are kept");
    return kInterrupted;
  }

  static void note_of_sizes(const Question& asked, Explanation& explanation) {
    if (asked.sizes == 1) return;
    explanation.prediction.notes.push_back(
        fmt::format("Of {} sizes the last, {}, is explained; another with --set workload.size=…",
                    asked.sizes, format_bytes(asked.scenario.workload.sizes.back())));
  }

  // The scenario that the file holds, for what-ifs; where there can be none, says why.
  std::optional<Question> question_of(const StoredResult& stored, Explanation& explanation) const {
    if (!stored.predicted) {
      explanation.untried =
          "What would help is found by running a prediction again, and this was measured: explain "
          "its scenario.";
    }
    try {
      Question asked = question(stored.prediction.rows.back().size);
      if (stored.version != context_.version) {
        explanation.prediction.notes.push_back(
            fmt::format("The result is of gradhaul {}, what would help of {}.", stored.version,
                        context_.version));
      }
      return asked;
    } catch (const ConfigError& error) {
      explanation.untried = fmt::format(
          "What would help is found by running its scenario again, which this version does not "
          "take: {}.",
          error.problems().front().message);
    }
    return {};
  }

  void try_changes(const Question& asked, Explanation& explanation) const {
    warn_of_runs(explanation.prediction.cost.wall_s, options_.top, "fewer with --top, ");
    if (options_.top == 0) {
      explanation.untried = "Not asked for (--top 0).";
      return;
    }
    const Scenario& scenario = asked.scenario;
    const ResultRow& row = explanation.prediction.rows.back();
    ProgressBar progress(options_.progress);
    int tried = 0;
    for (const Remedy& remedy :
         remedies(explanation.prediction, scenario.cluster, scenario.communication)) {
      if (tried == options_.top || explanation.interrupted) break;
      RunOfSeveral part(progress, tried, options_.top);
      const WhatIf what = what_if(remedy.knob, scenario, row.channels);
      TriedChange change = try_change(what, asked, row, part);
      if (change.obstacle.empty() && change.time.ps == 0) {
        explanation.interrupted = true;
        break;
      }
      if (change.obstacle.empty()) ++tried;
      explanation.changes.push_back(std::move(change));
    }
  }

  // Without a time where it was interrupted.
  TriedChange try_change(const WhatIf& what, const Question& asked, const ResultRow& before,
                         ProgressSink& progress) const {
    TriedChange change;
    change.change = what.change;
    change.settings = what.settings;
    change.obstacle = what.obstacle;
    if (!what.obstacle.empty()) return change;
    const Settings settings = joined(asked.settings, what.settings);
    change.command = "gradhaul predict " + command_line(asked.name, settings);
    try {
      const Prediction prediction = run(read(asked.name, settings), progress);
      if (prediction.rows.empty()) return change;
      const ResultRow& row = prediction.rows.back();
      change.time = row.time;
      change.limited_by = row.limited_by;
      change.channels = row.channels;
      change.digest = prediction.digest;
      change.grown = grown_part(before, row);
      for (const ResourceUse& use : prediction.resources) {
        const std::string name = row.limited_by.substr(0, row.limited_by.find(" ("));
        if (use.name == name) change.limiting_use = use.utilisation;
      }
    } catch (const ConfigError& error) {
      change.obstacle = "it would be refused: " + error.problems().front().message;
    } catch (const SimulationError& error) {
      change.obstacle = fmt::format("the run failed: {}", error.what());
    }
    return change;
  }

  int compare_with_change(const std::optional<StoredResult>& stored) {
    const Question asked =
        question(stored ? std::optional(stored->prediction.rows.back().size) : std::nullopt);
    const Scenario changed = read_changed(asked);
    ExplainedRun before{asked.scenario.name, {}, asked.scenario.effective()};
    before.prediction = stored ? stored->prediction : run(asked.scenario);
    if (before.prediction.rows.empty()) return nothing_finished();
    ExplainedRun after{"", run(changed), changed.effective()};
    if (after.prediction.rows.empty()) {
      complain("interrupted; the first run is finished, the one with the change is not");
      return kInterrupted;
    }
    after.name = "the same with";
    for (const std::string& setting : options_.against) after.name += " " + setting;
    std::string text = difference_text(before, after);
    const std::string first = command_line(asked.name, asked.settings);
    const std::string second = command_line(asked.name, joined(asked.settings, options_.against));
    text += fmt::format("\nSee it yourself\n  gradhaul predict {}\n  gradhaul predict {}\n", first,
                        second);
    return deliver(text, [&] { return difference_json(before, after); });
  }

  // What is wrong with a change is reported at its own option.
  Scenario read_changed(const Question& asked) const {
    try {
      return read(asked.name, joined(asked.settings, options_.against));
    } catch (const ConfigError& error) {
      throw ConfigError(told_at(error.problems(), options_.against, "--against"));
    }
  }

  int compare_results(const std::optional<StoredResult>& first) const {
    if (!options_.against.empty()) {
      complain("two result files are compared with each other; --against does not go with them");
      return kBadInput;
    }
    const auto second = stored_result(options_.other);
    for (const auto& [stored, name] :
         {std::pair(&first, &options_.scenario), std::pair(&second, &options_.other)}) {
      if (*stored) continue;
      complain(
          fmt::format("{} is no result file of gradhaul (predict --json writes one); two of "
                      "them can be compared, without --set. A scenario is compared with a "
                      "change of it by --against",
                      *name));
      return kBadInput;
    }
    if (!options_.json.empty()) require_writable(options_.json);
    const ExplainedRun before{options_.scenario, first->prediction, first->scenario.effective};
    const ExplainedRun after{options_.other, second->prediction, second->scenario.effective};
    return deliver(difference_text(before, after), [&] { return difference_json(before, after); });
  }

  static int nothing_finished() {
    complain("interrupted before the first run was finished");
    return kInterrupted;
  }

  template <typename Function>
  int deliver(const std::string& text, Function json) const {
    const bool printed = print(text);
    if (!printed) complain("standard output could not be written");
    if (!options_.json.empty()) {
      try {
        using Json = nlohmann::ordered_json;
        write_file_whole(options_.json,
                         json().dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
      } catch (const FileError& error) {
        complain(error.what());
        return kRunFailed;
      }
    }
    return printed ? kDone : kRunFailed;
  }

  const ExplainOptions& options_;
  const CommandContext& context_;
  const std::atomic<bool>& interrupted_;
};

}  // namespace

int run_explain(const ExplainOptions& options, const CommandContext& context) {
  return guarded([&] { return Explainer(options, context).explain(); });
}

}  // namespace gradhaul

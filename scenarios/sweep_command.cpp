#include "scenarios/sweep_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>

#include "analysis/sweep_result.h"
#include "backends/bootstrap/exchange.h"
#include "backends/spread/spread_points.h"
#include "scenarios/exit_status.h"
#include "scenarios/guarded_command.h"
#include "scenarios/interruption.h"
#include "scenarios/picture_command.h"
#include "scenarios/result_files_command.h"
#include "scenarios/sweep_journal.h"
#include "scenarios/sweep_point_command.h"
#include "scenarios/sweep_ranks_command.h"

namespace gradhaul {
namespace {

using Clock = std::chrono::steady_clock;

std::string journal_path(const SweepOptions& options) {
  if (!options.json.empty()) return options.json + ".partial";
  return options.csv.empty() ? "" : options.csv + ".partial";
}

SweepResult result_of(const SweepPlan& plan) {
  SweepResult sweep;
  sweep.scenario = record_of_scenario(plan.scenario);
  sweep.question = plan.scenario.question;
  sweep.settings = plan.options.settings;
  sweep.version = plan.version;
  for (const SweepAxis& axis : plan.axes) sweep.axes.push_back({axis.path, axis.values});
  for (std::size_t i = 0; i < plan.points; ++i) {
    sweep.points.push_back({values_at(plan.axes, i), std::nullopt});
  }
  return sweep;
}

class Sweep final : public PointSink {
 public:
  Sweep(const SweepPlan& plan, const CommandContext& context, const std::atomic<bool>& interrupted)
      : plan_(plan),
        interrupted_(interrupted),
        sweep_(result_of(plan)),
        queue_(plan.points),
        picture_({plan.options.plot, plan.options.plot_kind}, sweep_picture_kinds(), context),
        progress_(std::in_place, plan.options.progress) {
    check_result_files({plan.options.json, plan.options.csv});
    if (const std::string path = journal_path(plan.options); !path.empty()) journal_.emplace(path);
  }

  int run() {
    take_kept();
    std::optional<RankReception> reception = reception_of(plan_.options);
    const int ranks = plan_.options.launched ? plan_.options.launched->ranks : 1;
    SpreadSettings settings{
        .jobs = jobs_of(plan_.options), .likeness = plan_.likeness, .interrupted = &interrupted_};
    const auto work = [this](std::size_t point) {
      return outcome_text(compute_point(plan_, point));
    };
    SpreadPoints spread(queue_, work, reception ? &*reception : nullptr, ranks, *this, settings);
    sweep_.interrupted = !spread.run();
    progress_.reset();
    return finish();
  }

  void on_answer(std::size_t point, const std::string& answer) override {
    auto outcome = outcome_of_text(answer);
    if (!outcome) {
      outcome.emplace();
      outcome->error = "its process said what cannot be understood";
    }
    keep(*outcome, answer);
    sweep_.points[point].outcome = std::move(*outcome);
  }
  void on_lost(std::size_t point, const std::string& why) override {
    SweepOutcome outcome;
    outcome.error = why + "; short of memory, fewer --jobs may help";
    sweep_.points[point].outcome = std::move(outcome);
  }
  void on_news(const std::string& sentence) override { complain(sentence); }
  void on_step() override { progress_->on_points(queue_.settled(), plan_.points, known_); }

 private:
  // What failed is tried again by a sweep that goes on.
  void keep(const SweepOutcome& outcome, const std::string& text) {
    if (!journal_ || !outcome.done()) return;
    journal_->append(outcome.key, text);
  }

  // Only what is just the same: a point that has another scenario by now is computed again.
  void take_kept() {
    if (!journal_ || journal_->kept().empty()) return;
    std::set<std::string> used;
    for (std::size_t point = 0; point < plan_.points && !interrupted_; ++point) {
      const std::string key = key_at(point);
      const auto kept = journal_->kept().find(key);
      if (key.empty() || kept == journal_->kept().end()) continue;
      auto outcome = outcome_of_text(kept->second);
      if (!outcome) continue;
      sweep_.points[point].outcome = std::move(*outcome);
      queue_.settle(point);
      used.insert(key);
      ++known_;
    }
    complain(fmt::format("going on: {} of {} points are in {} already", known_, plan_.points,
                         journal_->path()));
    if (const std::size_t others = journal_->kept().size() - used.size(); others > 0) {
      complain(
          fmt::format("{} points in {} are of another scenario, other axes or another version, "
                      "and are left aside",
                      others, journal_->path()));
    }
  }

  // Empty: it cannot be read, and will be told as any such point.
  std::string key_at(std::size_t point) const {
    try {
      return key_of(plan_, scenario_at(plan_, point));
    } catch (const ConfigError&) {
      return "";
    }
  }

  int finish() {
    sum_up();
    const bool printed = print(sweep_table(sweep_));
    if (!printed) complain("standard output could not be written");
    const bool written = write_files() && picture_.draw(json_);
    const std::vector<std::string> errors = sweep_errors(sweep_);
    for (const std::string& error : errors) complain(error);
    const bool unmet = tell_unmet();
    const bool whole = printed && written && errors.empty() && !sweep_.interrupted;
    if (journal_ && whole) journal_->remove();
    if (sweep_.interrupted) {
      complain(fmt::format("interrupted; {} of {} points are finished{}", queue_.settled(),
                           plan_.points, where_kept()));
      return kInterrupted;
    }
    if (!errors.empty()) {
      complain(fmt::format("{} of {} points failed{}", failed_, plan_.points, where_kept()));
    }
    if (!whole) return kRunFailed;
    return unmet ? kOutsideExpectation : kDone;
  }

  std::string where_kept() const {
    if (!journal_) return "; with --json or --csv, what is finished would be kept on the way";
    return fmt::format("; the others are kept in {}, and the same command goes on from there",
                       journal_->path());
  }

  void sum_up() {
    SweepCost& cost = sweep_.cost;
    cost.wall_s = std::chrono::duration<double>(Clock::now() - start_).count();
    cost.known_points = known_;
    for (const SweepPoint& point : sweep_.points) {
      if (!point.outcome) continue;
      if (!point.outcome->done()) ++failed_;
      cost.cpu_s += point.outcome->cpu_s;
      cost.peak_rss_bytes = std::max(cost.peak_rss_bytes, point.outcome->peak_rss_bytes);
    }
  }

  bool write_files() const {
    return write_texts({plan_.options.json, plan_.options.csv}, json_,
                       [this] { return sweep_csv(sweep_); });
  }

  bool tell_unmet() const {
    bool unmet = false;
    for (const SweepPoint& point : sweep_.points) {
      if (!point.outcome) continue;
      for (const std::string& sentence : point.outcome->unmet) {
        complain(fmt::format("{}: {}", point_name(sweep_, point), sentence));
        unmet = true;
      }
    }
    return unmet;
  }

  const SweepPlan& plan_;
  const std::atomic<bool>& interrupted_;
  SweepResult sweep_;
  const std::function<std::string()> json_ = [this] { return sweep_json_text(sweep_); };
  PointQueue queue_;
  Picture picture_;
  std::optional<ProgressBar> progress_;
  std::optional<SweepJournal> journal_;
  std::size_t known_ = 0;
  std::size_t failed_ = 0;
  Clock::time_point start_ = Clock::now();
};

int sweep_scenario(const SweepOptions& options, const CommandContext& context) {
  const std::atomic<bool>& interrupted = catch_interruption();
  if (options.launched && options.launched->rank > 0) {
    return help_sweep(options, context, interrupted);
  }
  const SweepPlan plan = sweep_plan_of(options, context.library, context.version);
  return Sweep(plan, context, interrupted).run();
}

}  // namespace

const std::vector<std::string>& sweep_picture_kinds() {
  static const std::vector<std::string> kinds{"auto", "heat-map", "busbw", "algorithm-map",
                                              "step-bars"};
  return kinds;
}

int run_sweep(const SweepOptions& options, const CommandContext& context) {
  try {
    return guarded([&] { return sweep_scenario(options, context); });
  } catch (const std::runtime_error& error) {
    complain(fmt::format("the run failed: {}", error.what()));
    return kRunFailed;
  }
}

}  // namespace gradhaul

#include "scenarios/measure_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "analysis/expectation.h"
#include "analysis/report.h"
#include "analysis/run_description.h"
#include "core/protocol.h"
#include "scenarios/exit_status.h"
#include "scenarios/guarded_command.h"
#include "scenarios/ladder_command.h"
#include "scenarios/measure_backends_command.h"
#include "scenarios/measure_plan.h"
#include "scenarios/pairs_command.h"
#include "scenarios/result_files_command.h"
#include "sim/plan_choice.h"

namespace gradhaul {
namespace {

// Whether all hold of what a measurement knows; what limits it does not.
bool meets_expectations(const Scenario& scenario, const Measurement& measurement) {
  std::vector<Expectation> expectations = expectations_of(scenario);
  std::erase_if(expectations, [](const Expectation& expected) {
    return expected.quantity == ExpectedQuantity::kLimitedBy;
  });
  Prediction rows;
  rows.rows = measurement.rows;
  const auto unmet = unmet_expectations(expectations, rows);
  for (const std::string& sentence : unmet) complain(sentence);
  return unmet.empty();
}

void complete_notes(const MeasurePlan& plan, Measurement& measurement) {
  // Those of the model speak of a cluster that need not be this one.
  std::vector<std::string> notes = plan.scenario.notes;
  notes.insert(notes.end(), plan.notes.begin(), plan.notes.end());
  measurement.notes.insert(measurement.notes.begin(), notes.begin(), notes.end());
  const auto limited_by = [](const ExpectedValue& expected) {
    return expected_quantity(expected.name) == ExpectedQuantity::kLimitedBy;
  };
  if (std::any_of(plan.scenario.expectations.begin(), plan.scenario.expectations.end(),
                  limited_by)) {
    measurement.notes.emplace_back(
        "what limits a measured run is not known; the scenario's expectation of it is left out");
  }
}

std::int64_t wrong_values(const Measurement& measurement) {
  std::int64_t wrong = 0;
  for (const ResultRow& row : measurement.rows) wrong += row.measured->wrong;
  return wrong;
}

int judge(const MeasurePlan& plan, const Measurement& measurement) {
  if (!measurement.failures.empty()) {
    complain(fmt::format("the run failed: {}", measurement.failures.front()));
    for (std::size_t i = 1; i < measurement.failures.size(); ++i) {
      complain(fmt::format("  {}", measurement.failures[i]));
    }
    return kRunFailed;
  }
  if (measurement.interrupted) {
    complain("interrupted; the sizes that were finished are kept");
    return kInterrupted;
  }
  if (const std::int64_t wrong = wrong_values(measurement); wrong > 0) {
    complain(fmt::format("{} values are wrong", wrong));
    return kRunFailed;
  }
  return meets_expectations(plan.scenario, measurement) ? kDone : kOutsideExpectation;
}

// The other ranks are silent but for what concerns them alone: rank 0 speaks for all.
int judge_elsewhere(const MeasureOptions& options, const Measurement& measurement) {
  if (!measurement.failures.empty()) {
    if (!options.started_by_measure) {
      complain(fmt::format("the run failed: {}", measurement.failures.front()));
    }
    return kRunFailed;
  }
  if (measurement.interrupted) return kInterrupted;
  return wrong_values(measurement) > 0 ? kRunFailed : kDone;
}

// Each rank chooses by itself, by the same function of the same scenario; and they compare.
std::vector<std::vector<PlanWay>> choose_plans(MeasurePlan& plan) {
  const PredictionRequest request = request_of(plan.scenario);
  if (!chooses_plan(request)) return {};
  std::vector<std::vector<PlanWay>> weighed = weigh_plans(request);
  for (std::size_t i = 0; i < weighed.size(); ++i) {
    const PlanWay& best = weighed[i].front();
    plan.chosen.push_back(best.communication);
    plan.agreed.emplace_back(fmt::format("plan of {} B", plan.scenario.workload.sizes[i].count),
                             fmt::format("{}/{}", best.weighed.algorithm, best.weighed.protocol));
  }
  return weighed;
}

void tell_choices(const MeasurePlan& plan, const std::vector<std::vector<PlanWay>>& weighed,
                  Measurement& measurement) {
  if (weighed.empty()) return;
  const PredictionRequest request = request_of(plan.scenario);
  std::size_t size = 0;
  std::vector<ResultRow> told;
  for (std::size_t i = 0; i < measurement.rows.size(); ++i) {
    ResultRow& row = measurement.rows[i];
    if (i > 0 && !row.measured->in_place) ++size;
    for (const PlanWay& way : weighed[size]) row.weighed.push_back(way.weighed);
    row.nccl = nccl_choice(request, row.size);
    if (!row.measured->in_place) told.push_back(row);
  }
  for (const std::string& note : choice_notes(request, told)) measurement.notes.push_back(note);
}

// LL and LL128 are flags among the data, and backends move data.
void refuse_flags(const MeasurePlan& plan) {
  const Communication& communication = plan.scenario.communication;
  std::string protocol(protocol_name(communication.protocol));
  if (communication.choose_protocol) protocol = "auto";
  if (protocol == "simple") return;
  refuse(plan.scenario.file,
         fmt::format("protocol: {} can be predicted, not measured: LL and LL128 need kernels "
                     "that poll flags among the data, which no backend has; measure with "
                     "--set communication.protocol=simple",
                     protocol));
}

int measure_scenario(const MeasureOptions& options, const CommandContext& context) {
  MeasurePlan plan = plan_of(options, context);
  refuse_flags(plan);
  if (options.ladder) require_ladder(plan.scenario);
  const std::vector<std::vector<PlanWay>> weighed = choose_plans(plan);
  const bool speaks = plan.rank == 0;
  if (speaks) check_result_files({options.json, options.csv});
  if (options.pairs) plan.pairs = pair_settings(plan, options);
  MeasuredAside aside;
  Measurement measurement = measure_with_backend(options, plan, aside);
  const std::vector<PairTime>& pairs = aside.pairs;
  if (!speaks) return judge_elsewhere(options, measurement);
  if (options.pairs) {
    // All of them, or none where the run failed or was interrupted.
    if (pairs.empty()) return judge(plan, measurement);
    measurement.notes.insert(measurement.notes.begin(), plan.notes.begin(), plan.notes.end());
    return tell_pairs(plan, *plan.pairs, options.json, pairs, measurement, context);
  }
  complete_notes(plan, measurement);
  tell_choices(plan, weighed, measurement);
  if (options.ladder) {
    const Ladder ladder = measured_ladder(plan.scenario, measurement);
    return tell_ladder(ladder, options.json, options.csv, context) ? judge(plan, measurement)
                                                                   : kRunFailed;
  }
  const RunDescription run = describe_run(plan.scenario.cluster, plan.scenario.communication,
                                          plan.scenario.name, context.version);
  const bool printed = print(report(measurement, run));
  if (!printed) complain("standard output could not be written");
  const bool written = write_result_files(ResultFiles{options.json, options.csv}, measurement,
                                          plan.scenario, context);
  if (!printed || !written) return kRunFailed;
  return judge(plan, measurement);
}

}  // namespace

int run_measure(const MeasureOptions& options, const CommandContext& context) {
  return guarded_ranks(options,
                       [&] { return guarded([&] { return measure_scenario(options, context); }); });
}

}  // namespace gradhaul

#include "scenarios/ladder_command.h"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

#include "analysis/ladder_comparison.h"
#include "backends/host/port_rate.h"
#include "core/wire_time.h"
#include "scenarios/compare_command.h"
#include "scenarios/exit_status.h"
#include "scenarios/result_files_command.h"
#include "sim/ladder_prediction.h"
#include "sim/plan_choice.h"

namespace gradhaul {
namespace {

// Nobody sees the wire alone; but the first rank's port says what it runs at, which is less where
// it trained down.
void set_link_rungs(const Network& network, Ladder& ladder) {
  std::string device;
  Bytes mtu = network.mtu;
  for (const auto& [name, value] : ladder.engine) {
    if (name == "device" && device.empty()) device = value;
    if (name == "mtu") mtu = {std::atoll(value.c_str())};
  }
  if (device.empty()) return;
  const auto rate = port_rate(HostTree("/"), device);
  if (!rate || mtu.count < 1) return;
  for (LadderRow& row : ladder.rows) {
    if (row.rung != Rung::kLink) continue;
    row.missing.clear();
    row.time = wire_time(network, mtu, *rate, row.carried);
  }
  ladder.notes.push_back(
      fmt::format("the link is not measured: it is what {} of rank 0 says that it runs at, {} Gb/s",
                  device, static_cast<double>(rate->bits_per_second) / 1e9));
}

}  // namespace

void require_ladder(const Scenario& scenario) {
  const auto refuse_it = [&](const std::string& why) {
    refuse(scenario.file, fmt::format("--ladder: {}", why));
  };
  if (scenario.training_step || scenario.goal || !scenario.jobs.empty() ||
      !scenario.background.empty()) {
    refuse_it(
        "a ladder is of one collective that has the cluster for itself; training steps, programs, "
        "jobs and background traffic have none");
  }
  if (scenario.cluster.nodes < 2) {
    refuse_it("the scenario has one node, and its rungs are about what goes from node to node");
  }
  if (scenario.communication.tcp) {
    refuse_it("its rungs are those of RDMA, and communication.transport is tcp");
  }
  const PredictionRequest request = request_of(scenario);
  if (scenario.fidelity == Fidelity::kNcclTuner || chooses_plan(request)) {
    refuse_it(
        "its rungs are those of one algorithm and protocol, and here they are still to be chosen; "
        "name them, as --set communication.algorithm=ring --set communication.protocol=simple");
  }
}

Ladder predicted_ladder(const Scenario& scenario, const PredictionRequest& request,
                        const Prediction& whole) {
  Ladder ladder;
  ladder.scenario = record_of_scenario(scenario);
  ladder.engine = {{"fidelity", whole.fidelity}, {"seed", std::to_string(whole.seed)}};
  ladder.rows = predict_ladder(request, whole);
  ladder.notes = whole.notes;
  if (request.fidelity != Fidelity::kPacket) {
    ladder.notes.push_back(
        fmt::format("the collective is predicted by {}, all rungs below it by the rules of packets",
                    whole.fidelity));
  }
  return ladder;
}

Ladder measured_ladder(const Scenario& scenario, const Measurement& measurement) {
  Ladder ladder;
  ladder.predicted = false;
  ladder.scenario = record_of_scenario(scenario);
  ladder.engine.emplace_back("backend", measurement.backend);
  ladder.engine.insert(ladder.engine.end(), measurement.facts.begin(), measurement.facts.end());
  ladder.rows = measurement.ladder;
  ladder.notes = measurement.notes;
  set_link_rungs(scenario.cluster.network, ladder);
  return ladder;
}

bool tell_ladder(const Ladder& ladder, const std::string& json, const std::string& csv,
                 const CommandContext& context, const Picture* picture) {
  const bool printed = print(ladder_text(ladder, context.version));
  if (!printed) complain("standard output could not be written");
  const auto text = [&] { return ladder_json_text(ladder, context.version); };
  const bool written = write_texts({json, csv}, text, [&] { return ladder_csv(ladder); });
  const bool drawn = picture == nullptr || picture->draw(text);
  return written && printed && drawn;
}

std::optional<int> compare_ladder_files(const CompareOptions& options, double tolerance,
                                        const CommandContext& context, const Picture& picture) {
  if (options.predicted == "-" || options.measured == "-") return std::nullopt;
  const auto predicted = read_ladder_file(options.predicted);
  const auto measured = read_ladder_file(options.measured);
  if (!predicted || !measured) return std::nullopt;
  LadderComparison comparison = compare_ladders(*predicted, *measured, tolerance);
  comparison.predicted = options.predicted;
  comparison.measured = options.measured;
  const bool printed = print(ladder_comparison_text(comparison, context.version));
  if (!printed) complain("standard output could not be written");
  const auto json = [&] { return ladder_comparison_json(comparison, context.version); };
  const bool written = write_texts({options.json, options.csv}, json,
                                   [&] { return ladder_comparison_csv(comparison); });
  // Of no rungs that both have there is no picture; why there are none is told below.
  const bool drawn = comparison.judged() == 0 || picture.draw(json);
  if (!written || !printed || !drawn) return kRunFailed;
  if (comparison.judged() == 0) {
    complain("no rung is on both ladders; the table says why");
    return kBadInput;
  }
  return comparison.outside() == 0 ? kDone : kOutsideExpectation;
}

}  // namespace gradhaul

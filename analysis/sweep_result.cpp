#include "analysis/sweep_result.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/csv_field.h"
#include "analysis/result_csv.h"
#include "analysis/sweep_step.h"

namespace gradhaul {
namespace {

using Json = nlohmann::ordered_json;

std::string dumped(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json scenario_json(const SweepResult& sweep) {
  return {{"name", sweep.scenario.name}, {"question", sweep.question},
          {"file", sweep.scenario.file}, {"sha256", sweep.scenario.sha256},
          {"settings", sweep.settings},  {"effective", sweep.scenario.effective}};
}

Json axes_json(const SweepResult& sweep) {
  Json axes = Json::array();
  for (const SweepAxisRecord& axis : sweep.axes) {
    axes.push_back({{"path", axis.path}, {"values", axis.values}});
  }
  return axes;
}

Json point_json(const SweepPoint& point) {
  const SweepOutcome& outcome = *point.outcome;
  Json json = {{"values", point.values}, {"status", outcome.done() ? "done" : "failed"}};
  json["error"] = outcome.done() ? Json(nullptr) : Json(outcome.error);
  json["unmet"] = outcome.unmet;
  json["result"] = outcome.done() ? outcome.result : Json(nullptr);
  return json;
}

// The head of an object without its end, so that more can follow.
std::string open_object(const Json& head) {
  std::string text = dumped(head, 2);
  text.resize(text.size() - 2);  // "\n}"
  return text;
}

template <typename Predicate>
bool has_point(const SweepResult& sweep, Predicate is) {
  return std::any_of(sweep.points.begin(), sweep.points.end(), [&is](const SweepPoint& point) {
    return point.outcome && point.outcome->done() && is(point.outcome->result);
  });
}

// Empty where it says no such thing, as no row but those of jobs has a job.
std::string text_of_row(const Json& result, std::size_t row, const char* key) {
  const auto rows = result.find("rows");
  return rows == result.end() || row >= rows->size() ? "" : (*rows)[row].value(key, "");
}

}  // namespace

std::string point_name(const SweepResult& sweep, const SweepPoint& point) {
  std::string name;
  for (std::size_t i = 0; i < sweep.axes.size(); ++i) {
    name += fmt::format("{}{}={}", i == 0 ? "" : ", ", sweep.axes[i].path, point.values[i]);
  }
  return name;
}

std::vector<std::string> sweep_errors(const SweepResult& sweep) {
  struct Failed {
    std::string error;
    std::string first;
    std::size_t points = 0;
  };
  std::vector<Failed> all;
  for (const SweepPoint& point : sweep.points) {
    if (!point.outcome || point.outcome->done()) continue;
    const std::string& error = point.outcome->error;
    auto same = all.begin();
    while (same != all.end() && same->error != error) ++same;
    if (same == all.end()) same = all.insert(same, {error, point_name(sweep, point), 0});
    ++same->points;
  }
  std::vector<std::string> sentences;
  for (const Failed& failed : all) {
    const std::string more =
        failed.points > 1 ? fmt::format(" and {} more", failed.points - 1) : std::string();
    sentences.push_back(fmt::format("{}{}: {}", failed.first, more, failed.error));
  }
  return sentences;
}

std::string sweep_json_text(const SweepResult& sweep) {
  std::string text = open_object({{"schema", "gradhaul.sweep/1"},
                                  {"version", sweep.version},
                                  {"scenario", scenario_json(sweep)},
                                  {"axes", axes_json(sweep)}});
  text += ",\n  \"points\": [";
  const char* separator = "\n    ";
  for (const SweepPoint& point : sweep.points) {
    if (!point.outcome) continue;
    text += separator + dumped(point_json(point), -1);
    separator = ",\n    ";
  }
  const Json cost = {{"wall_s", sweep.cost.wall_s},
                     {"cpu_s", sweep.cost.cpu_s},
                     {"peak_rss_bytes", sweep.cost.peak_rss_bytes},
                     {"known_points", sweep.cost.known_points}};
  return text + fmt::format("\n  ],\n  \"interrupted\": {},\n  \"cost\": {}\n}}\n",
                            sweep.interrupted, dumped(cost, -1));
}

std::string sweep_csv(const SweepResult& sweep) {
  const bool steps =
      has_point(sweep, [](const Json& result) { return step_of(result).has_value(); });
  const bool jobs = !steps && has_point(sweep, [](const Json& result) {
    return !text_of_row(result, 0, "job").empty();
  });
  std::string text;
  for (const SweepAxisRecord& axis : sweep.axes) text += csv_field(axis.path) + ",";
  text += (steps ? step_csv_head() : csv_head()) + (jobs ? ",job" : "") + ",profile\n";
  for (const SweepPoint& point : sweep.points) {
    if (!point.outcome || !point.outcome->done()) continue;
    std::string values;
    for (const std::string& value : point.values) values += csv_field(value) + ",";
    const std::vector<std::string>& lines = point.outcome->csv;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const auto field = [&](const char* key) {
        return "," + csv_field(text_of_row(point.outcome->result, i, key));
      };
      text += values + lines[i] + (jobs ? field("job") : "") + field("profile") + "\n";
    }
  }
  return text;
}

}  // namespace gradhaul

#include <nlohmann/json.hpp>

#include "analysis/explanation.h"
#include "analysis/quantity_text.h"
#include "analysis/report.h"
#include "analysis/time_parts.h"
#include "core/workload_names.h"

namespace gradhaul {
namespace {

using Json = nlohmann::ordered_json;

double share(Duration part, Duration whole) {
  return whole.ps > 0 ? static_cast<double>(part.ps) / static_cast<double>(whole.ps) : 0;
}

Json row_json(const Prediction& prediction) {
  const ResultRow& row = prediction.rows.back();
  return {{"collective", name_of(row.collective)},
          {"algorithm", row.algorithm},
          {"channels", row.channels},
          {"ranks", row.ranks},
          {"size_bytes", row.size.count},
          {"fidelity", prediction.fidelity},
          {"digest", digest_text(prediction.digest)},
          {"time_us", microseconds(row.time)},
          {"limited_by", row.limited_by}};
}

Json parts_json(const ResultRow& row) {
  Json parts = Json::array();
  for (const PartGroup& group : grouped_parts(row)) {
    parts.push_back({{"resources", group.resources},
                     {"resource_count", group.resource_count},
                     {"cause", group.cause},
                     {"in_words", cause_in_words(group.cause, group.resources)},
                     {"time_us", microseconds(group.time)},
                     {"share", share(group.time, row.time)}});
  }
  return parts;
}

Json blame_json(const ResultRow& row) {
  Json blames = Json::array();
  for (const ResourceBlame& blame : blame_of_resources(row)) {
    blames.push_back({{"resources", blame.resources},
                      {"resource_count", blame.resource_count},
                      {"time_us", microseconds(blame.time)},
                      {"share", share(blame.time, row.time)}});
  }
  return blames;
}

Json change_json(const TriedChange& change, const ResultRow& before) {
  Json json = {{"change", change.change}, {"settings", change.settings}};
  if (!change.obstacle.empty()) {
    json["not_tried"] = change.obstacle;
    return json;
  }
  json["command"] = change.command;
  json["time_us"] = microseconds(change.time);
  json["times_as_fast"] =
      change.time.ps > 0 ? static_cast<double>(before.time.ps) / static_cast<double>(change.time.ps)
                         : 1.0;
  json["limited_by"] = change.limited_by;
  json["limiting_utilisation"] = change.limiting_use;
  json["channels"] = change.channels;
  json["digest"] = digest_text(change.digest);
  if (const auto& grown = change.grown) {
    json["grown"] = {{"resources", grown->resources},
                     {"cause", grown->cause},
                     {"before_us", microseconds(grown->before)},
                     {"after_us", microseconds(grown->after)}};
  }
  return json;
}

}  // namespace

Json explanation_json(const Explanation& explanation, const ScenarioRecord& scenario) {
  const ResultRow& row = explanation.prediction.rows.back();
  Json json;
  json["schema"] = "gradhaul.explanation/1";
  json["version"] = explanation.run.version;
  json["scenario"] = {{"name", scenario.name},
                      {"file", scenario.file},
                      {"sha256", scenario.sha256},
                      {"effective", scenario.effective}};
  json["run"] = row_json(explanation.prediction);
  json["parts"] = parts_json(row);
  json["blame"] = blame_json(row);
  json["what_ifs"] = Json::array();
  for (const TriedChange& change : explanation.changes) {
    json["what_ifs"].push_back(change_json(change, row));
  }
  if (!explanation.untried.empty()) json["untried"] = explanation.untried;
  json["text"] = explanation_text(explanation);
  json["interrupted"] = explanation.interrupted;
  return json;
}

}  // namespace gradhaul

#include "analysis/sweep_outcome.h"

#include "analysis/result_csv.h"
#include "analysis/result_json.h"
#include "analysis/sweep_step.h"

namespace gradhaul {
using Json = nlohmann::ordered_json;

std::vector<SweepRow> SweepOutcome::rows() const {
  std::vector<SweepRow> rows;
  if (!done()) return rows;
  for (const Json& row : result.at("rows")) {
    rows.push_back({row.at("size_bytes").get<std::int64_t>(), row.at("time_us").get<double>(),
                    row.at("algbw_GBps").get<double>(), row.at("busbw_GBps").get<double>(),
                    row.at("limited_by").get<std::string>(), row.value("cpu_cores", 0.0),
                    row.value("gpu_sms", std::int64_t{0}),
                    row.value("queue_pairs_per_nic", std::int64_t{0}),
                    row.value("registered_bytes", std::int64_t{0}), row.value("setup_us", 0.0)});
  }
  return rows;
}

SweepOutcome outcome_of(const Prediction& prediction, const std::string& version) {
  SweepOutcome outcome;
  Json whole = result_json(prediction, {}, version);
  Json result = std::move(whole["engine"]);
  result.erase("version");
  result["channels"] = whole["placement"]["channels"];
  for (const char* key :
       {"schema", "kind", "scenario", "engine", "placement", "interrupted", "cost"}) {
    whole.erase(key);
  }
  for (auto& [key, value] : whole.items()) result[key] = std::move(value);
  outcome.result = std::move(result);
  for (const ResultRow& row : prediction.rows) outcome.csv.push_back(csv_line(row));
  outcome.cpu_s = prediction.cost.cpu_s;
  outcome.peak_rss_bytes = prediction.cost.peak_rss_bytes;
  return outcome;
}

std::string outcome_text(const SweepOutcome& outcome) {
  const Json json = {{"key", outcome.key},
                     {"error", outcome.error},
                     {"result", outcome.result},
                     {"csv", outcome.csv},
                     {"unmet", outcome.unmet},
                     {"cpu_s", outcome.cpu_s},
                     {"peak_rss_bytes", outcome.peak_rss_bytes}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<SweepOutcome> outcome_of_text(std::string_view text) {
  try {
    Json json = Json::parse(text);
    SweepOutcome outcome;
    outcome.key = json.at("key").get<std::string>();
    outcome.error = json.at("error").get<std::string>();
    outcome.result = std::move(json.at("result"));
    outcome.csv = json.at("csv").get<std::vector<std::string>>();
    outcome.unmet = json.at("unmet").get<std::vector<std::string>>();
    outcome.cpu_s = json.at("cpu_s").get<double>();
    outcome.peak_rss_bytes = json.at("peak_rss_bytes").get<std::int64_t>();
    outcome.rows();
    step_of(outcome.result);
    return outcome;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace gradhaul

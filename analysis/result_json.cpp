#include "analysis/result_json.h"

#include <cmath>

#include "analysis/company_text.h"
#include "analysis/engine_facts.h"
#include "analysis/quantity_text.h"
#include "analysis/report.h"
#include "analysis/time_parts.h"
#include "analysis/uncertainty_text.h"
#include "core/assert.h"
#include "core/busbw.h"
#include "core/workload_names.h"

namespace gradhaul {
namespace {

using Json = nlohmann::ordered_json;

// JSON knows no infinity; a result has none either.
double finite(double value) {
  GRADHAUL_ASSERT(std::isfinite(value), "a result is a finite number");
  return value;
}

Json parts_json(const ResultRow& row) {
  check_parts(row);
  Json parts = Json::object();
  for (const TimePart& part : merged_parts(row)) {
    const std::string key = part.resource.empty() ? part.cause : part.resource + ": " + part.cause;
    parts[key] = microseconds(part.time);
  }
  return parts;
}

Json plan_json(const WeighedPlan& plan) {
  return {{"algorithm", plan.algorithm},
          {"protocol", plan.protocol},
          {"channels", plan.channels},
          {"time_us", microseconds(plan.time)}};
}

// Of rows whose plan was chosen.
void add_choice(const ResultRow& row, Json& json) {
  if (!row.weighed.empty()) {
    json["weighed"] = Json::array();
    for (const WeighedPlan& plan : row.weighed) json["weighed"].push_back(plan_json(plan));
  }
  if (!row.nccl) return;
  json["nccl"] = {{"version", row.nccl->version}};
  json["nccl"].update(plan_json(row.nccl->plan));
}

// All but what a prediction and a measurement fill in each in its own way.
Json row_start(const ResultRow& row) {
  return {{"collective", name_of(row.collective)},
          {"algorithm", row.algorithm},
          {"protocol", row.protocol},
          {"channels", row.channels},
          {"ranks", row.ranks},
          {"size_bytes", row.size.count},
          {"count", row.count},
          {"datatype", name_of(row.datatype)},
          {"reduction", name_of(row.reduction)},
          {"time_us", microseconds(row.time)},
          {"algbw_GBps", finite(algbw(row.size, row.time) / 1e9)},
          {"busbw_GBps", finite(busbw(row.collective, row.ranks, row.size, row.time) / 1e9)}};
}

// What there is none of, or is not known, has no key.
void add_held(const HeldResources& held, Json& json) {
  if (held.gpu_sms > 0) json["gpu_sms"] = held.gpu_sms;
  if (held.queue_pairs > 0) {
    json["queue_pairs"] = held.queue_pairs;
    json["queue_pairs_per_nic"] = held.queue_pairs_per_nic;
  }
  if (held.registered.count > 0) json["registered_bytes"] = held.registered.count;
}

void add_setup(const SetupTime& setup, Json& json) {
  if (setup.total().ps == 0) return;
  json["setup_us"] = microseconds(setup.total());
  json["setup_parts_us"] = {{"queue_pairs", microseconds(setup.queue_pairs)},
                            {"registration", microseconds(setup.registration)}};
}

// Under the names of hosts alone.
void add_counted(const CountedRuns& counted, Json& json) {
  if (counted.runs == 0) return;
  json["counted_runs"] = counted.runs;
  json["counters"] = Json::array();
  for (const PortCounters& port : counted.ports) {
    if (port.as_on_host.empty()) continue;
    json["counters"].push_back({{"port", port.port}, {"as_on_host", port.as_on_host}});
  }
}

Json row_json(const ResultRow& row) {
  Json json = row_start(row);
  json["wrong"] = nullptr;
  json["in_place"] = nullptr;
  json["bytes_sent_per_rank"] = row.bytes_sent_per_rank.count;
  add_setup(row.setup, json);
  if (row.cpu_cores > 0) json["cpu_cores"] = finite(row.cpu_cores);
  add_held(row.held, json);
  json["limited_by"] = row.limited_by;
  json["parts_us"] = parts_json(row);
  json["profile"] = row.profile;
  if (!row.job.empty()) json["job"] = row.job;
  add_choice(row, json);
  if (row.uncertainty) json["uncertainty"] = uncertainty_json(*row.uncertainty);
  return json;
}

Json measured_row_json(const ResultRow& row) {
  const IterationTimes& times = *row.measured;
  Json json = row_start(row);
  json["wrong"] = times.wrong;
  json["in_place"] = times.in_place;
  json["bytes_sent_per_rank"] = row.bytes_sent_per_rank.count;
  json["limited_by"] = nullptr;
  json["parts_us"] = nullptr;
  json["profile"] = row.profile;
  json["iterations"] = times.iterations;
  json["min_us"] = microseconds(times.min);
  json["p50_us"] = microseconds(times.p50);
  json["p99_us"] = microseconds(times.p99);
  json["times_us"] = Json::array();
  for (const Duration time : times.each) json["times_us"].push_back(microseconds(time));
  add_choice(row, json);
  add_counted(row.counted, json);
  return json;
}

Json resource_json(const ResourceUse& resource) {
  return {{"name", resource.name},
          {"kind", resource.kind},
          {"utilisation", finite(resource.utilisation)},
          {"bytes", resource.bytes.count},
          {"blame_us", microseconds(resource.blame)}};
}

Json counters_json(const PortCounters& port) {
  Json as_on_host = Json::object();
  for (const auto& [name, count] : port.as_on_host) as_on_host[name] = count;
  return {{"port", port.port},
          {"xmit_wait_us", microseconds(port.xmit_wait)},
          {"pfc_pause_frames", port.pfc_pause_frames},
          {"pfc_pause_frames_sent", port.pfc_pause_frames_sent},
          {"pfc_paused_us", microseconds(port.pfc_paused)},
          {"ecn_marked", port.ecn_marked},
          {"cnp", port.cnp},
          {"dropped", port.dropped},
          {"tx_discards", port.tx_discards},
          {"rx_discards", port.rx_discards},
          {"retransmitted", port.retransmitted},
          {"out_of_sequence", port.out_of_sequence},
          {"packet_seq_err", port.packet_seq_err},
          {"local_ack_timeout_err", port.local_ack_timeout_err},
          {"rnr_nak_retry_err", port.rnr_nak_retry_err},
          {"out_of_credits_us", microseconds(port.out_of_credits)},
          {"as_on_host", std::move(as_on_host)}};
}

Json cost_json(const RunCost& cost) {
  return {{"wall_s", finite(cost.wall_s)},
          {"cpu_s", finite(cost.cpu_s)},
          {"packets", cost.packets},
          {"packet_hops", cost.packet_hops},
          {"skipped_packet_hops", cost.skipped_packet_hops},
          {"peak_rss_bytes", cost.peak_rss_bytes}};
}

template <typename Items, typename Function>
Json list_json(const Items& items, Function item_json) {
  Json list = Json::array();
  for (const auto& item : items) list.push_back(item_json(item));
  return list;
}

Json engine_json(const Prediction& prediction, const std::string& version) {
  Json engine = {{"version", version},
                 {"fidelity", prediction.fidelity},
                 {"seed", prediction.seed},
                 {"digest", digest_text(prediction.digest)},
                 {"exact", prediction.exact}};
  if (prediction.error_bound) engine["error_bound_us"] = microseconds(*prediction.error_bound);
  return engine;
}

Json scenario_json(const ScenarioRecord& scenario) {
  return {{"name", scenario.name},
          {"file", scenario.file},
          {"sha256", scenario.sha256},
          {"effective", scenario.effective}};
}

// Names come from files: what is no UTF-8 in them is replaced rather than fatal.
std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

Json result_json(const Prediction& prediction, const ScenarioRecord& scenario,
                 const std::string& version) {
  Json result;
  result["schema"] = "gradhaul.result/1";
  result["kind"] = "predicted";
  result["scenario"] = scenario_json(scenario);
  result["engine"] = engine_json(prediction, version);
  result["placement"] = {{"channels", prediction.channels}, {"rings", prediction.rings}};
  // Those of an only row are the file's.
  const bool several = prediction.rows.size() > 1;
  result["rows"] = list_json(prediction.rows, [several](const ResultRow& row) {
    Json json = row_json(row);
    if (several) add_counted(row.counted, json);
    return json;
  });
  result["resources"] = list_json(prediction.resources, resource_json);
  result["counters"] = list_json(prediction.counters, counters_json);
  if (prediction.company) result["company"] = company_json(*prediction.company);
  result["notes"] = prediction.notes;
  if (!prediction.failure.empty()) result["failures"] = {prediction.failure};
  result["interrupted"] = prediction.interrupted;
  result["cost"] = cost_json(prediction.cost);
  return result;
}

std::string result_json_text(const Prediction& prediction, const ScenarioRecord& scenario,
                             const std::string& version) {
  return text_of(result_json(prediction, scenario, version));
}

Json result_json(const Measurement& measurement, const ScenarioRecord& scenario,
                 const std::string& version) {
  Json result;
  result["schema"] = "gradhaul.result/1";
  result["kind"] = "measured";
  result["scenario"] = scenario_json(scenario);
  result["engine"] = {{"version", version}, {"backend", measurement.backend}};
  add_facts(measurement.facts, result["engine"]);
  result["placement"] = {{"channels", measurement.channels}, {"rings", measurement.rings}};
  result["rows"] = list_json(measurement.rows, measured_row_json);
  result["resources"] = Json::array();
  result["counters"] = list_json(measurement.counters, counters_json);
  result["notes"] = measurement.notes;
  result["failures"] = measurement.failures;
  result["interrupted"] = measurement.interrupted;
  result["cost"] = cost_json(measurement.cost);
  return result;
}

std::string result_json_text(const Measurement& measurement, const ScenarioRecord& scenario,
                             const std::string& version) {
  return text_of(result_json(measurement, scenario, version));
}

}  // namespace gradhaul

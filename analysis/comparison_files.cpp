#include "analysis/comparison_files.h"

#include <fmt/format.h>

#include <optional>

#include "analysis/counter_comparison.h"
#include "analysis/csv_field.h"
#include "analysis/result_json.h"

namespace gradhaul {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json row_json(const ComparedRow& row) {
  return {{"algorithm", text_or_null(row.algorithm)},
          {"protocol", text_or_null(row.protocol)},
          {"profile", text_or_null(row.profile)},
          {"channels", or_null(row.channels)},
          {"ranks", or_null(row.ranks)},
          {"datatype", text_or_null(row.datatype)},
          {"time_us", row.time_us},
          {"algbw_GBps", row.algbw_GBps},
          {"busbw_GBps", or_null(row.busbw_GBps)},
          {"min_us", or_null(row.min_us)},
          {"p50_us", or_null(row.p50_us)},
          {"p99_us", or_null(row.p99_us)},
          {"wrong", or_null(row.wrong)},
          {"streamed", row.streamed},
          {"line", row.line > 0 ? Json(row.line) : Json()}};
}

Json counters_json(const RowCounterComparison& compared) {
  Json counters = Json::array();
  for (const ComparedCounter& counter : compared.counters) {
    counters.push_back({{"port", text_or_null(counter.port)},
                        {"name", counter.name},
                        {"predicted", or_null(counter.predicted)},
                        {"measured", or_null(counter.measured)}});
  }
  return counters;
}

Json pair_json(const Comparison& comparison, const ComparedPair& pair) {
  return {{"collective", pair.predicted.collective},
          {"size_bytes", pair.measured.size_bytes},
          {"in_place", or_null(pair.measured.in_place)},
          {"predicted", row_json(pair.predicted)},
          {"measured", row_json(pair.measured)},
          {"repeats", pair.repeats},
          {"time_ratio", pair.time_ratio},
          {"busbw_ratio", or_null(pair.busbw_ratio)},
          {"verdict", name_of(pair.verdict)},
          {"remark", pair.remark},
          {"counters", counters_json(compare_counters(comparison, pair))}};
}

Json side_json(const ComparedRun& run) {
  return {{"file", run.source}, {"format", run.format}, {"name", run.name}};
}

Json summary_json(const Comparison& comparison) {
  const auto worst = comparison.worst();
  Json summary = {{"sizes", comparison.sizes()},
                  {"rows", comparison.pairs.size()},
                  {"judged", comparison.judged()},
                  {"outside", comparison.outside()},
                  {"worst_ratio", nullptr},
                  {"worst_size_bytes", nullptr},
                  {"median_ratio", nullptr},
                  {"only_predicted", comparison.only_predicted},
                  {"only_measured", comparison.only_measured}};
  if (!worst) return summary;
  summary["worst_ratio"] = comparison.pairs[*worst].time_ratio;
  summary["worst_size_bytes"] = comparison.pairs[*worst].measured.size_bytes;
  summary["median_ratio"] = comparison.median_ratio();
  return summary;
}

std::string number(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : std::string();
}

}  // namespace

std::string comparison_json_text(const Comparison& comparison, const std::string& version) {
  Json json;
  json["schema"] = "gradhaul.comparison/1";
  json["version"] = version;
  json["predicted"] = side_json(comparison.predicted);
  json["measured"] = side_json(comparison.measured);
  json["tolerance"] = comparison.tolerance;
  json["rows"] = Json::array();
  for (const ComparedPair& pair : comparison.pairs) {
    json["rows"].push_back(pair_json(comparison, pair));
  }
  json["summary"] = summary_json(comparison);
  json["findings"] = Json::array();
  for (const RunFinding& finding : comparison.findings) {
    json["findings"].push_back({{"layer", text_or_null(finding.layer)}, {"text", finding.text}});
  }
  const RowCounterComparison compared = compare_counters(comparison);
  json["counters_of_size"] =
      compared.pair == nullptr ? Json() : Json(compared.pair->measured.size_bytes);
  json["counters"] = counters_json(compared);
  json["notes"] = comparison.notes;
  // Texts come from files: what is no UTF-8 in them is replaced rather than fatal.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string comparison_csv(const Comparison& comparison) {
  std::string text =
      "collective,size_bytes,in_place,predicted_time_us,measured_time_us,time_ratio,"
      "predicted_algbw_GBps,measured_algbw_GBps,predicted_busbw_GBps,measured_busbw_GBps,"
      "busbw_ratio,verdict,remark,predicted_profile,measured_profile\n";
  for (const ComparedPair& pair : comparison.pairs) {
    const std::string place = !pair.measured.in_place   ? ""
                              : *pair.measured.in_place ? "true"
                                                        : "false";
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
                        csv_field(pair.predicted.collective), pair.measured.size_bytes, place,
                        pair.predicted.time_us, pair.measured.time_us, pair.time_ratio,
                        pair.predicted.algbw_GBps, pair.measured.algbw_GBps,
                        number(pair.predicted.busbw_GBps), number(pair.measured.busbw_GBps),
                        number(pair.busbw_ratio), name_of(pair.verdict), csv_field(pair.remark),
                        csv_field(pair.predicted.profile), csv_field(pair.measured.profile));
  }
  return text;
}

}  // namespace gradhaul

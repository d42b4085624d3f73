#include "analysis/calibration_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "analysis/engine_facts.h"
#include "analysis/quantity_text.h"

namespace gradhaul {
namespace {

using Json = nlohmann::ordered_json;

// Of what has no bytes to speak of, the time is what counts.
std::string rate_of(const CalibrationSample& sample) {
  const bool moves =
      sample.kind != CalibrationKind::kRegistration && sample.kind != CalibrationKind::kStep;
  return moves ? rate_text(sample.bandwidth()) : "";
}

std::string line_of(const CalibrationSample& sample, std::optional<Duration> modelled) {
  const bool stream = sample.kind == CalibrationKind::kBandwidth;
  return fmt::format(" {:<14} {:>8} {:>5} {:>5} {:>9} {:>9} {:>9} {:>4} {:>11} {:>9}\n",
                     words_of(sample.kind), bytes_text(sample.size),
                     stream ? fmt::to_string(sample.queue_pairs) : "",
                     stream ? fmt::to_string(sample.depth) : "", duration_text(sample.median),
                     duration_text(sample.low), duration_text(sample.high), sample.repetitions,
                     rate_of(sample), modelled ? duration_text(*modelled) : "");
}

}  // namespace

std::string_view words_of(CalibrationKind kind) {
  switch (kind) {
    case CalibrationKind::kLatency:
      return "write latency";
    case CalibrationKind::kBandwidth:
      return "write stream";
    case CalibrationKind::kRegistration:
      return "registration";
    case CalibrationKind::kReduce:
      return "reduction";
    case CalibrationKind::kCopy:
      return "copy";
    case CalibrationKind::kStep:
      break;
  }
  return "ring slice";
}

std::string calibration_text(const CalibrationRecord& record, const std::string& version) {
  std::string text = fmt::format(
      "# gradhaul {}: calibration over {} on {}, {}\n#\n"
      "# Median of so many repetitions (n), a tenth of which were no longer than `10 %` and nine\n"
      "# tenths no longer than `90 %`; what the model makes of the file of these values.\n#\n"
      "# {:<13} {:>8} {:>5} {:>5} {:>9} {:>9} {:>9} {:>4} {:>11} {:>9}\n",
      version, record.backend, record.host, record.date, "what", "size", "pairs", "depth", "median",
      "10 %", "90 %", "n", "rate", "model");
  for (std::size_t i = 0; i < record.found.samples.size(); ++i) {
    text += line_of(record.found.samples[i],
                    i < record.modelled.size() ? record.modelled[i] : std::nullopt);
  }
  for (const auto& [name, value] : record.found.facts) {
    text += fmt::format("# {}: {}\n", name, value);
  }
  for (const std::string& note : record.notes) text += fmt::format("# Note: {}\n", note);
  return text;
}

std::string calibration_json(const CalibrationRecord& record, const std::string& version) {
  Json json = {{"schema", "gradhaul.calibration/1"},
               {"kind", "measured"},
               {"version", version},
               {"date", record.date},
               {"host", record.host},
               {"backend", record.backend},
               {"engine", Json::object()},
               {"samples", Json::array()},
               {"notes", record.notes}};
  add_facts(record.found.facts, json["engine"]);
  for (std::size_t i = 0; i < record.found.samples.size(); ++i) {
    const CalibrationSample& sample = record.found.samples[i];
    const auto modelled = i < record.modelled.size() ? record.modelled[i] : std::nullopt;
    json["samples"].push_back({{"what", words_of(sample.kind)},
                               {"size_bytes", sample.size.count},
                               {"queue_pairs", sample.queue_pairs},
                               {"depth", sample.depth},
                               {"median_us", microseconds(sample.median)},
                               {"low_us", microseconds(sample.low)},
                               {"high_us", microseconds(sample.high)},
                               {"repetitions", sample.repetitions},
                               {"GBps", sample.bandwidth() / 1e9},
                               {"modelled_us", modelled ? Json(microseconds(*modelled)) : Json()}});
  }
  return json.dump(2) + "\n";
}

}  // namespace gradhaul

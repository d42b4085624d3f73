#include "analysis/result_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/input_error.h"
#include "analysis/json_text.h"
#include "analysis/result_json.h"

namespace gradhaul {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kMostRanks = 1 << 24;
constexpr std::int64_t kMostRuns = 1 << 30;

// Reads a row's keys, and knows what to say where one is missing.
class RowKeys {
 public:
  RowKeys(const Json& row, std::size_t index, const std::string& source)
      : row_(row), index_(index), source_(source) {
    if (!row.is_object()) wrong("", "an object");
  }

  std::string text(const char* key) const {
    if (!member(row_, key).is_string()) wrong(key, "a text");
    return text_of(member(row_, key));
  }
  double time_us(const char* key) const {
    const auto number = real_of(member(row_, key));
    if (!number || !is_plausible_time(*number)) wrong(key, "a time above 0");
    return *number;
  }
  std::int64_t whole(const char* key, std::int64_t least, std::int64_t most) const {
    const auto number = whole_of(member(row_, key));
    if (!number || *number < least || *number > most) {
      wrong(key, fmt::format("a whole number from {} on", least).c_str());
    }
    return *number;
  }
  // A key that measured files may have in one of two spellings.
  std::optional<double> statistic(const std::string& name) const {
    const auto number = real_of(member(row_, (name + "_us").c_str()));
    return number ? number : real_of(member(row_, name.c_str()));
  }
  const Json& value(const char* key) const { return member(row_, key); }

 private:
  [[noreturn]] void wrong(const char* key, const char* expected) const {
    const std::string name = fmt::format("rows[{}]", index_) + (*key == 0 ? "" : ".") + key;
    throw InputError({source_, 1, 1},
                     fmt::format("{} is not {}, as a result file has it", name, expected));
  }

  const Json& row_;
  std::size_t index_;
  const std::string& source_;
};

void read_as_on_host(const Json& counts, PortCounters& port) {
  if (!counts.is_object()) return;
  for (const auto& [name, value] : counts.items()) {
    const auto count = whole_of(value);
    if (count && *count >= 0) port.as_on_host[name] = *count;
  }
}

CountedRuns read_counted(const RowKeys& keys) {
  CountedRuns counted;
  const auto runs = whole_of(keys.value("counted_runs"));
  if (!runs || *runs < 1 || *runs > kMostRuns || !keys.value("counters").is_array()) return counted;
  counted.runs = static_cast<int>(*runs);
  for (const Json& entry : keys.value("counters")) {
    PortCounters& port = counted.ports.emplace_back();
    port.port = text_of(member(entry, "port"));
    read_as_on_host(member(entry, "as_on_host"), port);
  }
  return counted;
}

ComparedRow read_row(const RowKeys& keys) {
  ComparedRow row;
  row.collective = keys.text("collective");
  row.algorithm = text_of(keys.value("algorithm"));
  row.protocol = text_of(keys.value("protocol"));
  row.profile = text_of(keys.value("profile"));
  row.datatype = text_of(keys.value("datatype"));
  row.reduction = text_of(keys.value("reduction"));
  row.ranks = static_cast<int>(keys.whole("ranks", 1, kMostRanks));
  if (whole_of(keys.value("channels"))) {
    row.channels = static_cast<int>(keys.whole("channels", 0, kMostRanks));
  }
  row.size_bytes = keys.whole("size_bytes", 0, std::numeric_limits<std::int64_t>::max());
  row.time_us = keys.time_us("time_us");
  row.algbw_GBps = static_cast<double>(row.size_bytes) / row.time_us / 1e3;
  row.busbw_GBps = real_of(keys.value("busbw_GBps"));
  if (keys.value("in_place").is_boolean()) row.in_place = keys.value("in_place").get<bool>();
  row.wrong = real_of(keys.value("wrong"));
  row.min_us = keys.statistic("min");
  row.p50_us = keys.statistic("p50");
  row.p99_us = keys.statistic("p99");
  row.counted = read_counted(keys);
  row.limited_by = text_of(keys.value("limited_by"));
  if (keys.value("parts_us").is_object()) {
    for (const auto& [name, time] : keys.value("parts_us").items()) {
      if (const auto us = real_of(time)) row.parts_us.emplace_back(name, *us);
    }
    std::stable_sort(row.parts_us.begin(), row.parts_us.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
  }
  return row;
}

Duration duration_of(const Json& microseconds) {
  const auto us = real_of(microseconds);
  if (!us || *us < 0 || *us > 1e12) return {};
  return Duration{std::llround(*us * 1e6)};
}

void read_counters(const Json& list, ComparedRun& run) {
  if (!list.is_array()) return;
  const auto count = [](const Json& value) { return whole_of(value).value_or(0); };
  for (const Json& entry : list) {
    PortCounters port;
    port.port = text_of(member(entry, "port"));
    if (port.port.empty()) continue;
    port.xmit_wait = duration_of(member(entry, "xmit_wait_us"));
    port.pfc_pause_frames = count(member(entry, "pfc_pause_frames"));
    port.pfc_pause_frames_sent = count(member(entry, "pfc_pause_frames_sent"));
    port.pfc_paused = duration_of(member(entry, "pfc_paused_us"));
    port.ecn_marked = count(member(entry, "ecn_marked"));
    port.cnp = count(member(entry, "cnp"));
    port.dropped = count(member(entry, "dropped"));
    port.tx_discards = count(member(entry, "tx_discards"));
    port.rx_discards = count(member(entry, "rx_discards"));
    port.retransmitted = count(member(entry, "retransmitted"));
    port.out_of_sequence = count(member(entry, "out_of_sequence"));
    port.packet_seq_err = count(member(entry, "packet_seq_err"));
    port.local_ack_timeout_err = count(member(entry, "local_ack_timeout_err"));
    port.rnr_nak_retry_err = count(member(entry, "rnr_nak_retry_err"));
    port.out_of_credits = duration_of(member(entry, "out_of_credits_us"));
    read_as_on_host(member(entry, "as_on_host"), port);
    run.counters.push_back(std::move(port));
  }
}

void read_resources(const Json& list, ComparedRun& run) {
  if (!list.is_array()) return;
  for (const Json& entry : list) {
    ResourceUse use;
    use.name = text_of(member(entry, "name"));
    use.kind = text_of(member(entry, "kind"));
    use.utilisation = real_of(member(entry, "utilisation")).value_or(0);
    use.bytes = Bytes{whole_of(member(entry, "bytes")).value_or(0)};
    use.blame = duration_of(member(entry, "blame_us"));
    if (!use.name.empty()) run.resources.push_back(std::move(use));
  }
}

void read_rings(const Json& list, ComparedRun& run) {
  if (!list.is_array()) return;
  for (const Json& entry : list) {
    std::vector<int> ring;
    if (!entry.is_array()) continue;
    for (const Json& rank : entry) {
      const auto number = whole_of(rank);
      if (number && *number >= 0 && *number < kMostRanks) ring.push_back(static_cast<int>(*number));
    }
    run.rings.push_back(std::move(ring));
  }
}

void require_schema(const Json& json, const std::string& source) {
  const std::string schema = text_of(member(json, "schema"));
  if (schema != "gradhaul.result/1") {
    throw InputError({source, 1, 1}, fmt::format("its schema is \"{}\"; this version reads "
                                                 "\"gradhaul.result/1\"",
                                                 schema.substr(0, 60)));
  }
  const std::string kind = text_of(member(json, "kind"));
  if (kind != "predicted" && kind != "measured") {
    throw InputError({source, 1, 1}, fmt::format("its kind is \"{}\"; a result is \"predicted\" or "
                                                 "\"measured\"",
                                                 kind.substr(0, 60)));
  }
  if (!member(json, "rows").is_array()) {
    throw InputError({source, 1, 1}, "a result file has a list `rows`; this one has none");
  }
}

}  // namespace

bool is_result_file(const Json& json) {
  return text_of(member(json, "schema")).starts_with("gradhaul.result/");
}

ComparedRun read_result_file(const Json& json, const std::string& source) {
  require_schema(json, source);
  ComparedRun run;
  run.source = source;
  run.predicted = text_of(member(json, "kind")) == "predicted";
  run.format = run.predicted ? "gradhaul result, predicted" : "gradhaul result, measured";
  run.name = text_of(member(member(json, "scenario"), "name"));
  const std::string backend = text_of(member(member(json, "engine"), "backend"));
  if (!backend.empty()) run.format += " over " + backend.substr(0, 32);
  run.effective = member(member(json, "scenario"), "effective");
  const Json& rows = member(json, "rows");
  for (std::size_t i = 0; i < std::min(rows.size(), kMaxRows); ++i) {
    ComparedRow& row = run.rows.emplace_back(read_row(RowKeys(rows[i], i, source)));
    // Rows of earlier versions do not say it; the scenario does.
    if (row.profile.empty()) row.profile = profile_of(run.effective);
  }
  read_counters(member(json, "counters"), run);
  read_resources(member(json, "resources"), run);
  read_rings(member(member(json, "placement"), "rings"), run);
  if (member(json, "interrupted") == Json(true)) {
    run.notes.emplace_back("the run was interrupted: only the sizes it had finished are here");
  }
  if (run.rows.empty()) run.why_empty = "its list of rows is empty";
  return run;
}

}  // namespace gradhaul

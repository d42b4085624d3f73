#include "analysis/ladder_file.h"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "analysis/csv_field.h"
#include "analysis/engine_facts.h"
#include "analysis/input_error.h"
#include "analysis/json_text.h"
#include "analysis/quantity_text.h"

namespace gradhaul {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "gradhaul.ladder/1";
constexpr const char* kAnySchema = "gradhaul.ladder/";
// Five rungs of some hundred sizes make some hundred kilobytes.
constexpr std::size_t kLargestFile = 64 << 20;
constexpr std::size_t kBeginning = 4096;

Json row_json(const std::vector<LadderRow>& rows, std::size_t index) {
  const LadderRow& row = rows[index];
  const bool there = row.missing.empty();
  const auto below = share_of_below(rows, index);
  const auto spread = [&](Duration time) {
    return row.iterations > 0 ? Json(microseconds(time)) : Json();
  };
  return {{"rung", name_of(row.rung)},
          {"size_bytes", row.size.count},
          {"carried_bytes", row.carried.count},
          {"time_us", there ? Json(microseconds(row.time)) : Json()},
          {"bandwidth_GBps", there ? Json(bandwidth_of(row) / 1e9) : Json()},
          {"of_below", below ? Json(*below) : Json()},
          {"missing", there ? Json() : Json(row.missing)},
          {"iterations", row.iterations > 0 ? Json(row.iterations) : Json()},
          {"min_us", spread(row.min)},
          {"p50_us", spread(row.p50)},
          {"p99_us", spread(row.p99)}};
}

LadderRow read_row(const nlohmann::json& json, std::size_t index, const std::string& source) {
  const auto wrong = [&](const char* key, const char* expected) {
    return InputError({source, 1, 1}, fmt::format("rows[{}].{} is not {}, as a ladder has it",
                                                  index, key, expected));
  };
  LadderRow row;
  const auto rung = rung_of(text_of(member(json, "rung")));
  if (!rung) throw wrong("rung", "link, host_pair, gpu_pair, ring_step or collective");
  row.rung = *rung;
  const auto size = whole_of(member(json, "size_bytes"));
  const auto carried = whole_of(member(json, "carried_bytes"));
  if (!size || *size < 1) throw wrong("size_bytes", "a whole number from 1 on");
  if (!carried || *carried < 1) throw wrong("carried_bytes", "a whole number from 1 on");
  row.size = {*size};
  row.carried = {*carried};
  row.missing = text_of(member(json, "missing"));
  if (!row.missing.empty()) return row;
  const auto us = real_of(member(json, "time_us"));
  if (!us || *us < 1e-6 || *us > 1e12) throw wrong("time_us", "a time above 0");
  row.time = {std::llround(*us * 1e6)};
  row.iterations = static_cast<int>(whole_of(member(json, "iterations")).value_or(0));
  return row;
}

Ladder read_ladder(const nlohmann::json& json, const std::string& source) {
  if (text_of(member(json, "schema")) != kSchema) {
    throw InputError({source, 1, 1}, fmt::format("its schema is {}, and this version reads {}",
                                                 text_of(member(json, "schema")), kSchema));
  }
  Ladder ladder;
  const std::string kind = text_of(member(json, "kind"));
  if (kind != "predicted" && kind != "measured") {
    throw InputError({source, 1, 1}, "kind is not predicted or measured, as a ladder has it");
  }
  ladder.predicted = kind == "predicted";
  ladder.scenario.name = text_of(member(member(json, "scenario"), "name"));
  ladder.scenario.effective = member(member(json, "scenario"), "effective");
  const char* const by = ladder.predicted ? "fidelity" : "backend";
  ladder.engine.emplace_back(by, text_of(member(member(json, "engine"), by)));
  const nlohmann::json& rows = member(json, "rows");
  if (!rows.is_array() || rows.empty()) {
    throw InputError({source, 1, 1}, "it holds no rows, as a ladder does");
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ladder.rows.push_back(read_row(rows[i], i, source));
  }
  return ladder;
}

std::string row_text(const std::vector<LadderRow>& rows, std::size_t index) {
  const LadderRow& row = rows[index];
  const std::string head =
      fmt::format("{:>13} {:>18} {:>13}", row.size.count, words_of(row.rung), row.carried.count);
  if (!row.missing.empty()) return fmt::format("{} {:>10}  {}\n", head, "-", row.missing);
  const auto below = share_of_below(rows, index);
  return fmt::format("{} {:>10.2f} {:>9.2f} {:>9}\n", head, row.time.microseconds(),
                     bandwidth_of(row) / 1e9, below ? percent_text(*below) : "");
}

}  // namespace

std::optional<double> share_of_below(const std::vector<LadderRow>& rows, std::size_t row) {
  const double own = bandwidth_of(rows[row]);
  for (std::size_t below = row; own > 0 && below-- > 0;) {
    if (rows[below].size != rows[row].size) break;
    const double other = bandwidth_of(rows[below]);
    if (other > 0) return own / other;
  }
  return std::nullopt;
}

std::string ladder_json_text(const Ladder& ladder, const std::string& version) {
  Json json;
  json["schema"] = kSchema;
  json["kind"] = ladder.predicted ? "predicted" : "measured";
  json["version"] = version;
  json["scenario"] = {{"name", ladder.scenario.name},
                      {"file", ladder.scenario.file},
                      {"sha256", ladder.scenario.sha256},
                      {"effective", ladder.scenario.effective}};
  json["engine"] = Json::object();
  add_facts(ladder.engine, json["engine"]);
  json["rows"] = Json::array();
  for (std::size_t i = 0; i < ladder.rows.size(); ++i) {
    json["rows"].push_back(row_json(ladder.rows, i));
  }
  json["notes"] = ladder.notes;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string ladder_csv(const Ladder& ladder) {
  std::string text =
      "kind,rung,size_bytes,carried_bytes,time_us,bandwidth_GBps,of_below,missing,iterations,"
      "min_us,p50_us,p99_us,profile\n";
  for (std::size_t i = 0; i < ladder.rows.size(); ++i) {
    text += ladder.predicted ? "predicted" : "measured";
    const Json row = row_json(ladder.rows, i);
    for (const Json& value : row) {
      text += ",";
      if (value.is_string()) text += csv_field(value.get<std::string>());
      if (value.is_number()) text += value.dump();
    }
    text += "," + csv_field(profile_of(ladder.scenario.effective)) + "\n";
  }
  return text;
}

bool is_ladder_json(const nlohmann::json& json) {
  return text_of(member(json, "schema")).starts_with(kAnySchema);
}

std::optional<Ladder> read_ladder_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::string text(kBeginning, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(stream.gcount(), 0)));
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || text[first] != '{') return std::nullopt;
  if (stream) {
    std::ostringstream rest;
    rest << stream.rdbuf();
    text += rest.str();
  }
  // Keys may be in any order, the schema last.
  if (text.find(kAnySchema) == std::string::npos) return std::nullopt;
  if (text.size() > kLargestFile) {
    throw InputError({path, 1, 1}, "it begins as a ladder does, and is larger than 64 MiB");
  }
  const nlohmann::json json = parse_json_text(text, path);
  if (!is_ladder_json(json)) return std::nullopt;
  return read_ladder(json, path);
}

std::string profile_words(const std::string& profile) {
  return profile.empty() ? "" : ", profile " + profile;
}

std::string ladder_text(const Ladder& ladder, const std::string& version) {
  std::string text = fmt::format(
      "# gradhaul {}: ladder of {}{}, {} ({})\n# Of one NIC, one way: what each layer gives by "
      "itself, from below.\n#\n# {:>11} {:>18} {:>13} {:>10} {:>9} {:>9}\n# {:>11} {:>18} {:>13} "
      "{:>10} {:>9} {:>9}\n",
      version, ladder.scenario.name, profile_words(profile_of(ladder.scenario.effective)),
      ladder.predicted ? "predicted" : "measured",
      ladder.engine.empty() ? "" : ladder.engine.front().second, "size", "rung", "sends", "time",
      "bandwidth", "of the", "(B)", "", "(B)", "(us)", "(GB/s)", "one below");
  for (std::size_t i = 0; i < ladder.rows.size(); ++i) text += row_text(ladder.rows, i);
  for (const std::string& note : ladder.notes) text += fmt::format("# Note: {}\n", note);
  return text;
}

}  // namespace gradhaul

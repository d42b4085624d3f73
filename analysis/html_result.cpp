// A run, predicted or measured, on a page.

#include <fmt/format.h>

#include <algorithm>

#include "analysis/bottleneck.h"
#include "analysis/held_text.h"
#include "analysis/html_pieces.h"
#include "analysis/quantity_text.h"
#include "analysis/resource_group.h"
#include "analysis/speed_text.h"
#include "analysis/stored_result.h"
#include "analysis/time_parts.h"

namespace gradhaul {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostParts = 12;

StoredResult stored(const ReportedFile& file) {
  try {
    return stored_result_of(file.content);
  } catch (const StoredResultError& error) {
    throw ReportError(fmt::format("{}: {}", file.name, error.what()));
  }
}

// "an all_reduce of 14 GB over 32 ranks"
std::string task_text(const ResultRow& row, const Json& json) {
  return fmt::format("{} of {} over {} ranks", json.at("collective").get<std::string>(),
                     bytes_text(row.size), row.ranks);
}

std::string answer_text(const StoredResult& result, const Json& last) {
  const ResultRow& row = result.prediction.rows.back();
  return fmt::format("{} {}: {}, a bus bandwidth of {} GB/s.",
                     result.predicted ? "Predicted for" : "Measured for", task_text(row, last),
                     duration_text(row.time), digits_text(last.at("busbw_GBps").get<double>()));
}

std::string table_of_rows(const Json& rows, bool measured) {
  HtmlTable table;
  const bool jobs =
      std::any_of(rows.begin(), rows.end(), [](const Json& row) { return row.contains("job"); });
  if (jobs) table.columns.push_back({"job", "", false});
  table.columns.insert(table.columns.end(), {{"size", "B", true},
                                             {"algorithm", "", false},
                                             {"time", "µs", true},
                                             {"algbw", "GB/s", true},
                                             {"busbw", "GB/s", true}});
  if (measured) {
    for (const char* name : {"min", "p50", "p99"}) table.columns.push_back({name, "µs", true});
    table.columns.push_back({"in place", "", false});
    table.columns.push_back({"wrong", "elements", true});
  } else {
    table.columns.push_back({"limited by", "", false});
  }
  const auto number = [](const Json& row, const char* key) {
    return row.at(key).is_null() ? std::string("-") : digits_text(row.at(key).get<double>());
  };
  for (const Json& row : rows) {
    std::vector<std::string> cells;
    if (jobs) cells.push_back(row.contains("job") ? row.at("job").get<std::string>() : "-");
    cells.push_back(fmt::format("{}", row.at("size_bytes").get<std::int64_t>()));
    cells.push_back(fmt::format("{}, {}", row.at("algorithm").get<std::string>(),
                                row.at("protocol").get<std::string>()));
    for (const char* key : {"time_us", "algbw_GBps", "busbw_GBps"}) {
      cells.push_back(number(row, key));
    }
    if (measured) {
      for (const char* key : {"min_us", "p50_us", "p99_us"}) cells.push_back(number(row, key));
      cells.emplace_back(row.at("in_place").get<bool>() ? "yes" : "no");
      cells.push_back(row.at("wrong").dump());
    } else {
      cells.push_back(row.at("limited_by").get<std::string>());
    }
    table.rows.push_back(std::move(cells));
  }
  return html_table(table);
}

std::string and_more(std::size_t groups) {
  if (groups <= kMostParts) return "";
  return html_paragraph(fmt::format("… and {} more, in the file.", groups - kMostParts));
}

std::string parts_section(const ResultRow& row) {
  HtmlTable table{{{"time", "", true}, {"share", "", true}, {"where, and why", "", false}}, {}};
  const std::vector<PartGroup> groups = grouped_parts(row);
  for (const PartGroup& group : groups) {
    if (table.rows.size() == kMostParts) break;
    const double share = static_cast<double>(group.time.ps) /
                         static_cast<double>(std::max<std::int64_t>(row.time.ps, 1));
    const std::string place = group.resources.empty() ? "" : group.resources + ": ";
    table.rows.push_back({duration_text(group.time), percent_text(share),
                          place + cause_in_words(group.cause, group.resources)});
  }
  if (table.rows.empty()) return "";
  return html_heading("Where the time goes, along the critical path") + html_table(table) +
         and_more(groups.size());
}

std::string uses_section(const std::vector<ResourceUse>& resources) {
  HtmlTable table{
      {{"busy", "", true}, {"moved", "", true}, {"resource", "", false}, {"what it is", "", false}},
      {}};
  const std::vector<UseGroup> groups = group_by_use(resources);
  for (const UseGroup& group : groups) {
    if (table.rows.size() == kMostParts) break;
    table.rows.push_back({fmt::format("{:.1f} %", group.highest * 100), bytes_text(group.bytes),
                          names_of_group(group), kind_in_words(group.kind)});
  }
  if (table.rows.empty()) return "";
  return html_heading("Busiest resources") + html_table(table) + and_more(groups.size());
}

std::string held_section(const ResultRow& row) {
  const auto terms = held_terms(row);
  return terms.empty() ? "" : html_heading("What it takes beside time") + html_terms(terms);
}

std::string made_section(const ReportedFile& file, const StoredResult& result) {
  const Json& scenario = file.content.at("scenario");
  std::vector<std::pair<std::string, std::string>> terms{
      {"gradhaul", result.version},
      {"scenario file", result.scenario.file},
      {"its sha256", result.scenario.sha256},
      {"to make it again", result.predicted ? "gradhaul predict " + shell_word(file.name) : ""}};
  for (const auto& [key, value] : file.content.at("engine").items()) {
    if (key == "version") continue;
    // Of several NICs there is a list.
    for (const Json& one : value.is_array() ? value : Json::array({value})) {
      terms.emplace_back(key, one.is_string() ? one.get<std::string>() : one.dump());
    }
  }
  return html_heading("How it was made") + html_terms(terms) +
         html_heading("The scenario, with every default filled in") +
         html_verbatim(yaml_text(scenario.at("effective")));
}

}  // namespace

std::string result_section(const ReportedFile& file) {
  return section_of(file, [&file] {
    const StoredResult result = stored(file);
    const Json& rows = file.content.at("rows");
    const ResultRow& row = result.prediction.rows.back();
    std::string text =
        html_title(file) + html_paragraph(answer_text(result, rows.back()), "answer");
    if (result.predicted) {
      text += html_paragraph(bottleneck_sentence(row, result.prediction.resources));
    }
    if (file.content.contains("failures")) {
      for (const Json& failure : file.content.at("failures")) {
        text += html_paragraph("Failed: " + failure.get<std::string>(), "bad");
      }
    }
    text += table_of_rows(rows, !result.predicted) + html_pictures(file);
    if (rows.size() > 1 && result.predicted) {
      text += html_paragraph(fmt::format("What follows is of {}.", bytes_text(row.size)));
    }
    text += parts_section(row) + uses_section(result.prediction.resources) + held_section(row);
    if (!result.prediction.notes.empty()) {
      text += html_heading("Notes") + html_list(result.prediction.notes);
    }
    return text + made_section(file, result);
  });
}

}  // namespace gradhaul

// A prediction beside a measurement, on a page.

#include <fmt/format.h>

#include "analysis/html_pieces.h"
#include "analysis/quantity_text.h"

namespace gradhaul {
namespace {

using Json = nlohmann::ordered_json;

std::string ratio_text(double ratio) {
  return ratio < 100 ? fmt::format("{:.3g}", ratio) : fmt::format("{:.0f}", ratio);
}

std::string answer_text(const Json& content) {
  const Json& summary = content.at("summary");
  const auto judged = summary.at("judged").get<std::int64_t>();
  if (judged == 0) return "Nothing could be judged: no size is on both sides.";
  const auto outside = summary.at("outside").get<std::int64_t>();
  std::string text =
      fmt::format("{} of {} measured times {} within {:.4g} % of the predicted.", judged - outside,
                  judged, judged == 1 ? "is" : "are", content.at("tolerance").get<double>() * 100);
  if (!summary.at("worst_ratio").is_number()) return text;
  return text + fmt::format(
                    " The farthest off, {}, took {} times as long as predicted; the "
                    "median is {} times.",
                    bytes_text({summary.at("worst_size_bytes").get<std::int64_t>()}),
                    ratio_text(summary.at("worst_ratio").get<double>()),
                    ratio_text(summary.at("median_ratio").get<double>()));
}

std::string number(const Json& value) {
  return value.is_number() ? digits_text(value.get<double>()) : std::string("-");
}

// perftest knows no place.
std::string place_text(const Json& in_place) {
  if (!in_place.is_boolean()) return "-";
  return in_place.get<bool>() ? "in" : "out";
}

std::string table_of_rows(const Json& rows) {
  HtmlTable table;
  table.columns = {{"size", "B", true},
                   {"place", "", false},
                   {"predicted", "µs", true},
                   {"measured", "µs", true},
                   {"ratio", "measured / predicted", true},
                   {"predicted busbw", "GB/s", true},
                   {"measured busbw", "GB/s", true},
                   {"verdict", "", false}};
  for (const Json& row : rows) {
    const std::string verdict = row.at("verdict").get<std::string>();
    const std::string remark = row.at("remark").get<std::string>();
    const Json& ratio = row.at("time_ratio");
    table.rows.push_back({fmt::format("{}", row.at("size_bytes").get<std::int64_t>()),
                          place_text(row.at("in_place")), number(row.at("predicted").at("time_us")),
                          number(row.at("measured").at("time_us")),
                          ratio.is_number() ? fmt::format("{:.3f}", ratio.get<double>()) : "-",
                          number(row.at("predicted").at("busbw_GBps")),
                          number(row.at("measured").at("busbw_GBps")),
                          remark.empty() ? verdict : fmt::format("{}: {}", verdict, remark)});
  }
  return html_table(table);
}

std::string counters_section(const Json& counters) {
  HtmlTable table{{{"counter", "", false},
                   {"port", "", false},
                   {"predicted", "", true},
                   {"measured", "", true}},
                  {}};
  for (const Json& counter : counters) {
    const Json& port = counter.at("port");
    table.rows.push_back({counter.at("name").get<std::string>(),
                          port.is_string() ? port.get<std::string>() : "all others",
                          number(counter.at("predicted")), number(counter.at("measured"))});
  }
  return table.rows.empty() ? "" : html_heading("Counters that differ") + html_table(table);
}

// With the layer at fault, where there is one.
std::string finding_text(const Json& finding) {
  const Json& layer = finding.at("layer");
  return (layer.is_string() ? layer.get<std::string>() + ": " : std::string()) +
         finding.at("text").get<std::string>();
}

std::string side_text(const Json& side) {
  return fmt::format("{} ({})", side.at("file").get<std::string>(),
                     side.at("format").get<std::string>());
}

}  // namespace

std::string comparison_section(const ReportedFile& file) {
  return section_of(file, [&file] {
    const Json& content = file.content;
    std::string text = html_title(file);
    text += html_paragraph("Does the measurement agree with the prediction?", "question");
    text += html_paragraph(answer_text(content), "answer") + table_of_rows(content.at("rows"));
    text += html_pictures(file);
    std::vector<std::string> findings;
    for (const Json& finding : content.at("findings")) findings.push_back(finding_text(finding));
    for (const Json& note : content.at("notes")) findings.push_back(note.get<std::string>());
    if (!findings.empty()) text += html_heading("What stands out") + html_list(findings);
    text += counters_section(content.at("counters"));
    return text + html_heading("How it was made") +
           html_terms({{"gradhaul", content.at("version").get<std::string>()},
                       {"predicted", side_text(content.at("predicted"))},
                       {"measured", side_text(content.at("measured"))}});
  });
}

}  // namespace gradhaul

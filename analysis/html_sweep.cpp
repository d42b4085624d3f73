// A sweep on a page.

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "analysis/html_pieces.h"
#include "analysis/quantity_text.h"
#include "analysis/speed_text.h"
#include "analysis/sweep_step.h"

namespace gradhaul {
namespace {

using Json = nlohmann::ordered_json;

// Longer tables help nobody; the file has all.
constexpr std::size_t kMostRows = 2000;

struct Extreme {
  double busbw = 0;
  std::int64_t size = 0;
  std::string name;
};

std::string point_text(const Json& axes, const Json& point) {
  std::string text;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    text += fmt::format("{}{}={}", i == 0 ? "" : ", ", axes.at(i).at("path").get<std::string>(),
                        point.at("values").at(i).get<std::string>());
  }
  return text;
}

std::optional<SweepStep> step_at(const Json& point) {
  if (point.at("status").get<std::string>() != "done") return std::nullopt;
  return step_of(point.at("result"));
}

bool is_of_steps(const Json& content) {
  const Json& points = content.at("points");
  return std::any_of(points.begin(), points.end(),
                     [](const Json& point) { return step_at(point).has_value(); });
}

std::string step_answer_text(const Json& content) {
  std::optional<std::pair<double, const Json*>> best;
  std::size_t failed = 0;
  for (const Json& point : content.at("points")) {
    const auto step = step_at(point);
    if (!step) ++failed;
    if (step && (!best || step->time_us < best->first)) best = {step->time_us, &point};
  }
  const std::string text = fmt::format("Of {} points the shortest step, {} µs, is that of {}.",
                                       content.at("points").size(), digits_text(best->first),
                                       point_text(content.at("axes"), *best->second));
  return failed == 0 ? text : fmt::format("{} {} failed.", text, failed);
}

std::string answer_text(const Json& content) {
  if (is_of_steps(content)) return step_answer_text(content);
  std::optional<Extreme> best;
  std::optional<Extreme> worst;
  std::size_t failed = 0;
  const Json& points = content.at("points");
  for (const Json& point : points) {
    if (point.at("status").get<std::string>() != "done") {
      ++failed;
      continue;
    }
    for (const Json& row : point.at("result").at("rows")) {
      const Extreme here{row.at("busbw_GBps").get<double>(),
                         row.at("size_bytes").get<std::int64_t>(),
                         point_text(content.at("axes"), point)};
      if (!best || here.busbw > best->busbw) best = here;
      if (!worst || here.busbw < worst->busbw) worst = here;
    }
  }
  std::string text = fmt::format("Of {} points", points.size());
  if (!best) return fmt::format("{}, none came to an end.", text);
  text += fmt::format(" the highest bus bandwidth, {} GB/s for {}, is that of {}",
                      digits_text(best->busbw), bytes_text({best->size}), best->name);
  if (worst->name != best->name) {
    text += fmt::format("; the lowest, {} GB/s for {}, that of {}", digits_text(worst->busbw),
                        bytes_text({worst->size}), worst->name);
  }
  return failed == 0 ? fmt::format("{}.", text) : fmt::format("{}. {} failed.", text, failed);
}

std::string table_of_steps(const Json& content) {
  HtmlTable table;
  for (const Json& axis : content.at("axes")) {
    table.columns.push_back({axis.at("path").get<std::string>(), "", true});
  }
  const std::vector<HtmlTable::Column> rest{{"step", "µs", true},
                                            {"tokens or samples", "1/s", true},
                                            {"of peak", "%", true},
                                            {"exposed communication", "µs", true},
                                            {"communicating", "µs", true}};
  table.columns.insert(table.columns.end(), rest.begin(), rest.end());
  for (const Json& point : content.at("points")) {
    auto cells = point.at("values").get<std::vector<std::string>>();
    cells.resize(content.at("axes").size());
    if (const auto step = step_at(point)) {
      cells.push_back(digits_text(step->time_us));
      cells.push_back(digits_text(step->items_per_s));
      cells.push_back(step->share_of_peak ? fmt::format("{:.1f}", *step->share_of_peak * 100)
                                          : "-");
      cells.push_back(digits_text(step->exposed_us));
      cells.push_back(digits_text(step->communicating_us));
    } else {
      cells.insert(cells.end(), {"failed", "-", "-", "-", "-"});
    }
    table.rows.push_back(std::move(cells));
  }
  return html_table(table);
}

std::string table_of_points(const Json& content) {
  if (is_of_steps(content)) return table_of_steps(content);
  HtmlTable table;
  const Json& axes = content.at("axes");
  for (const Json& axis : axes) {
    table.columns.push_back({axis.at("path").get<std::string>(), "", true});
  }
  const std::vector<HtmlTable::Column> rest{{"size", "B", true},
                                            {"time", "µs", true},
                                            {"algbw", "GB/s", true},
                                            {"busbw", "GB/s", true},
                                            {"limited by", "", false}};
  table.columns.insert(table.columns.end(), rest.begin(), rest.end());
  std::size_t left_out = 0;
  for (const Json& point : content.at("points")) {
    auto values = point.at("values").get<std::vector<std::string>>();
    values.resize(axes.size());
    if (point.at("status").get<std::string>() != "done") {
      values.insert(values.end(), {"-", "-", "-", "-", "failed"});
      table.rows.push_back(std::move(values));
      continue;
    }
    for (const Json& row : point.at("result").at("rows")) {
      if (table.rows.size() >= kMostRows) {
        ++left_out;
        continue;
      }
      std::vector<std::string> cells = values;
      cells.push_back(fmt::format("{}", row.at("size_bytes").get<std::int64_t>()));
      for (const char* key : {"time_us", "algbw_GBps", "busbw_GBps"}) {
        cells.push_back(digits_text(row.at(key).get<double>()));
      }
      cells.push_back(row.at("limited_by").get<std::string>());
      table.rows.push_back(std::move(cells));
    }
  }
  std::string text = html_table(table);
  if (left_out > 0) {
    text += html_paragraph(fmt::format("{} more rows are in the file alone.", left_out));
  }
  return text;
}

std::string errors_section(const Json& content) {
  std::vector<std::string> errors;
  for (const Json& point : content.at("points")) {
    if (!point.at("error").is_string()) continue;
    errors.push_back(fmt::format("{}: {}", point_text(content.at("axes"), point),
                                 point.at("error").get<std::string>()));
  }
  return errors.empty() ? "" : html_heading("Points that failed") + html_list(errors);
}

std::string command_text(const Json& content) {
  const Json& scenario = content.at("scenario");
  std::string text = "gradhaul sweep " + shell_word(scenario.at("file").get<std::string>());
  if (scenario.contains("settings")) {
    for (const Json& setting : scenario.at("settings")) {
      text += " --set " + shell_word(setting.get<std::string>());
    }
  }
  for (const Json& axis : content.at("axes")) {
    std::string values;
    for (const Json& value : axis.at("values")) {
      values += fmt::format("{}{}", values.empty() ? "" : ",", value.get<std::string>());
    }
    text +=
        " --vary " + shell_word(fmt::format("{}={}", axis.at("path").get<std::string>(), values));
  }
  return text;
}

}  // namespace

std::string sweep_section(const ReportedFile& file) {
  return section_of(file, [&file] {
    const Json& content = file.content;
    const Json& scenario = content.at("scenario");
    std::string text = html_title(file) + html_paragraph(answer_text(content), "answer");
    if (content.contains("interrupted") && content.at("interrupted").get<bool>()) {
      text += html_paragraph("Interrupted: only what was finished is here.", "bad");
    }
    text += html_pictures(file) + html_heading("Every point") + table_of_points(content);
    text += errors_section(content) + html_heading("How it was made");
    text += html_terms(
        {{"gradhaul",
          content.contains("version") ? content.at("version").get<std::string>() : std::string()},
         {"scenario file", scenario.at("file").get<std::string>()},
         {"its sha256", scenario.at("sha256").get<std::string>()},
         {"to make it again", command_text(content)}});
    return text + html_heading("The scenario, with every default filled in") +
           html_verbatim(yaml_text(scenario.at("effective")));
  });
}

}  // namespace gradhaul

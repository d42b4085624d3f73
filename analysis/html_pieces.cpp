#include "analysis/html_pieces.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gradhaul {
namespace {

using Json = nlohmann::ordered_json;

std::string flow_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_structured()) return value.dump();
  std::string parts;
  for (const auto& [key, item] : value.items()) {
    const std::string name = value.is_object() ? fmt::format("{}: ", key) : std::string();
    parts += fmt::format("{}{}{}", parts.empty() ? "" : ", ", name, flow_text(item));
  }
  return value.is_object() ? fmt::format("{{{}}}", parts) : fmt::format("[{}]", parts);
}

void write_mapping(const Json& mapping, const std::string& indent, std::string& text) {
  for (const auto& [key, value] : mapping.items()) {
    if (value.is_object() && !value.empty()) {
      text += fmt::format("{}{}:\n", indent, key);
      write_mapping(value, indent + "  ", text);
      continue;
    }
    const bool entries = value.is_array() && !value.empty() && value.front().is_object();
    if (!entries) {
      text += fmt::format("{}{}: {}\n", indent, key, flow_text(value));
      continue;
    }
    text += fmt::format("{}{}:\n", indent, key);
    for (const Json& entry : value) text += fmt::format("{}  - {}\n", indent, flow_text(entry));
  }
}

}  // namespace

std::string html_title(const ReportedFile& file) {
  const Json& content = file.content;
  std::string question;
  if (content.contains("scenario")) {
    const Json& scenario = content.at("scenario");
    if (scenario.contains("question")) {
      question = scenario.at("question").get<std::string>();
    } else if (scenario.at("effective").contains("question")) {
      question = scenario.at("effective").at("question").get<std::string>();
    }
  }
  return fmt::format("<h1>{}</h1>\n{}", html_escaped(title_of(file)),
                     html_paragraph(question, "question"));
}

std::string html_pictures(const ReportedFile& file) {
  if (file.pictures.empty()) return "";
  const std::string& first = file.pictures.front().missing;
  const bool none =
      !first.empty() && std::all_of(file.pictures.begin(), file.pictures.end(),
                                    [&first](const HtmlPicture& p) { return p.missing == first; });
  std::string text = html_heading("In pictures");
  if (none) return text + html_paragraph(fmt::format("There are none: {}.", first), "missing");
  int number = file.first_picture;
  for (const HtmlPicture& picture : file.pictures) text += html_picture(picture, number++);
  return text;
}

std::string yaml_text(const Json& effective) {
  std::string text;
  if (effective.is_object()) write_mapping(effective, "", text);
  return text;
}

std::string digits_text(double value) {
  const double size = std::abs(value);
  if (size >= 1000) return fmt::format("{:.1f}", value);
  return size >= 0.1 || size == 0 ? fmt::format("{:.2f}", value) : fmt::format("{:.3g}", value);
}

}  // namespace gradhaul

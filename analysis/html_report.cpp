#include "analysis/html_report.h"

#include <fmt/format.h>

#include <set>

namespace gradhaul {
namespace {

using Json = nlohmann::ordered_json;

// Of "a.b.c"; null where there is none.
const Json& at_path(const Json& json, const std::string& dotted) {
  static const Json null;
  const Json* at = &json;
  std::size_t begin = 0;
  while (begin <= dotted.size()) {
    const std::size_t end = std::min(dotted.find('.', begin), dotted.size());
    const std::string key = dotted.substr(begin, end - begin);
    if (!at->is_object() || !at->contains(key)) return null;
    at = &at->at(key);
    begin = end + 1;
  }
  return *at;
}

std::string text_at(const Json& json, const std::string& dotted) {
  const Json& value = at_path(json, dotted);
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::size_t sizes_in(const Json& rows) {
  std::set<std::string> sizes;
  for (const Json& row : rows) sizes.insert(at_path(row, "size_bytes").dump());
  return sizes.size();
}

constexpr const char* kGrowth = "How does bandwidth grow with size?";

std::vector<PictureAsked> pictures_of_result(const Json& content) {
  std::vector<PictureAsked> asked;
  if (sizes_in(at_path(content, "rows")) > 1) asked.push_back({"busbw", kGrowth});
  if (at_path(content, "training_step").is_object()) {
    asked.push_back({"time-line", "How much communication does the training step hide?"});
  }
  if (text_at(content, "kind") != "predicted") return asked;
  asked.push_back({"blame", "Where does the time go, and how busy is what?"});
  asked.push_back({"topology", "Which links carry how much?"});
  return asked;
}

std::vector<PictureAsked> pictures_of_sweep(const Json& content) {
  std::vector<PictureAsked> asked{
      {"heat-map", "Which setting is best, and how do the others compare?"}};
  bool sizes = false;
  bool algorithms = false;
  for (const Json& point : at_path(content, "points")) {
    if (!at_path(point, "result.training_step").is_object()) continue;
    return {{"step-bars", "Which step waits least for communication?"}, asked.front()};
  }
  for (const Json& axis : at_path(content, "axes")) {
    const std::string path = text_at(axis, "path");
    sizes = sizes || path.starts_with("workload.size") || path.starts_with("workload.model");
    algorithms = algorithms || path == "communication.algorithm";
  }
  for (const Json& point : at_path(content, "points")) {
    sizes = sizes || sizes_in(at_path(point, "result.rows")) > 1;
  }
  if (sizes) asked.push_back({"busbw", kGrowth});
  if (algorithms && sizes) {
    asked.push_back({"algorithm-map", "Which algorithm is fastest, over size and ranks?"});
  }
  return asked;
}

}  // namespace

ReportedKind kind_of_file(const Json& content) {
  const std::string schema = text_at(content, "schema");
  if (schema == "gradhaul.result/1") return ReportedKind::kResult;
  if (schema == "gradhaul.comparison/1") return ReportedKind::kComparison;
  if (schema == "gradhaul.sweep/1") return ReportedKind::kSweep;
  return ReportedKind::kNone;
}

std::vector<PictureAsked> pictures_of(const ReportedFile& file) {
  switch (kind_of_file(file.content)) {
    case ReportedKind::kResult:
      return pictures_of_result(file.content);
    case ReportedKind::kComparison:
      return {{"agreement", "Does the measurement agree with the prediction?"}};
    case ReportedKind::kSweep:
      return pictures_of_sweep(file.content);
    case ReportedKind::kNone:
      break;
  }
  return {};
}

std::string title_of(const ReportedFile& file) {
  if (kind_of_file(file.content) == ReportedKind::kComparison) {
    const std::string predicted = text_at(file.content, "predicted.name");
    return fmt::format("{}: predicted beside measured", predicted.empty() ? file.name : predicted);
  }
  const std::string name = text_at(file.content, "scenario.name");
  const bool measured = text_at(file.content, "kind") == "measured";
  return fmt::format("{}{}", name.empty() ? file.name : name, measured ? ", measured" : "");
}

}  // namespace gradhaul

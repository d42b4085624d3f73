#include "analysis/host_json.h"

#include <nlohmann/json.hpp>

#include "analysis/host_report.h"

namespace gradhaul {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const HostItem& item) {
  Json facts = Json::object();
  for (const auto& [name, value] : item.facts) facts[name] = value;
  Json children = Json::array();
  for (const HostItem& child : item.children) children.push_back(json_of(child));
  return {{"kind", item.kind},
          {"name", item.name},
          {"text", item.text},
          {"facts", std::move(facts)},
          {"children", std::move(children)}};
}

Json json_of(const Finding& finding) {
  Json evidence = Json::array();
  for (const Evidence& each : finding.evidence) {
    evidence.push_back({{"file", each.file}, {"text", each.text}});
  }
  return {{"severity", severity_word(finding.severity)},
          {"id", finding.id},
          {"subject", finding.subject},
          {"seen", finding.seen},
          {"evidence", std::move(evidence)},
          {"why", finding.why},
          {"remedy", finding.remedy},
          {"command", finding.command}};
}

Json json_of(const CounterReading& counter) {
  Json json{{"device", counter.device}, {"name", counter.name}, {"file", counter.file},
            {"first", counter.first},   {"second", nullptr},    {"meaning", counter.meaning}};
  if (counter.second) json["second"] = *counter.second;
  return json;
}

Json json_of(const HostDistances& distances) {
  Json rows = Json::array();
  for (std::size_t gpu = 0; gpu < distances.gpus.size(); ++gpu) {
    for (std::size_t nic = 0; nic < distances.nics.size(); ++nic) {
      const auto& distance = distances.of[gpu][nic];
      rows.push_back({{"gpu", distances.gpus[gpu]},
                      {"nic", distances.nics[nic]},
                      {"distance", distance ? Json(distance_word(distance)) : Json(nullptr)}});
    }
  }
  return rows;
}

template <typename Things>
Json list_of(const Things& things) {
  Json list = Json::array();
  for (const auto& thing : things) list.push_back(json_of(thing));
  return list;
}

}  // namespace

std::string host_json(const HostCheckup& checkup, const std::string& version) {
  Json unseen = Json::array();
  for (const Unseen& each : checkup.unseen) {
    unseen.push_back({{"what", each.what},
                      {"file", each.file.empty() ? Json(nullptr) : Json(each.file)},
                      {"reason", each.reason},
                      {"takes", each.takes}});
  }
  const Json json{{"schema", "gradhaul.doctor/1"},
                  {"version", version},
                  {"source", checkup.source},
                  {"watched_s", checkup.watched_seconds},
                  {"cut_short", checkup.cut_short},
                  {"host", list_of(checkup.items)},
                  {"distances", json_of(checkup.distances)},
                  {"findings", list_of(checkup.findings)},
                  {"unseen", std::move(unseen)},
                  {"counters", list_of(checkup.counters)}};
  // A source may be a path in any encoding.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace gradhaul

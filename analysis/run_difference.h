#pragma once

// Two runs laid against each other: which parts of the critical path grew or shrank, what limited
// before and after, which counters, uses and settings differ. In words and as JSON, schema
// "gradhaul.difference/1".

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"

namespace gradhaul {

struct ExplainedRun {
  std::string name;  // "before", "after.json", "with cluster.network.mtu=1024B"
  Prediction prediction;
  nlohmann::ordered_json effective;  // the scenario with every key; null: not known
};

struct SettingDifference {
  std::string path;    // "cluster.network.mtu", "cluster.node.pcie.0.link"
  std::string before;  // as it would be written; empty: the key is not there
  std::string after;
};

// In the order of the keys of the first, then of those only the second has. What says nothing about
// the run (name, question, expectations) is left out.
std::vector<SettingDifference> setting_differences(const nlohmann::ordered_json& before,
                                                   const nlohmann::ordered_json& after);

struct PartDifference {
  std::string resources;  // "node*.nic*"; empty: no resource's
  std::string cause;
  Duration before;
  Duration after;
};

// Parts of one shape and cause together, those that differ most first. They add up to the
// difference of the times.
std::vector<PartDifference> part_differences(const ResultRow& before, const ResultRow& after);

struct CounterDifference {
  std::string ports;    // of one shape: "leaf*:*"
  std::string counter;  // "xmit_wait"
  bool is_time = false;
  // Summed over the ports; times in ps.
  std::int64_t before = 0;
  std::int64_t after = 0;
};

// Of the last rows. Ports in name order.
std::vector<CounterDifference> counter_differences(const Prediction& before,
                                                   const Prediction& after);

struct UseDifference {
  std::string kind;   // as of ResourceUse
  double before = 0;  // the busiest of the kind, of 1
  double after = 0;
};

// Kinds whose busiest differs by at least a percent point, the most first.
std::vector<UseDifference> use_differences(const Prediction& before, const Prediction& after);

// Both runs have rows; the last ones are compared.
std::string difference_text(const ExplainedRun& before, const ExplainedRun& after);
nlohmann::ordered_json difference_json(const ExplainedRun& before, const ExplainedRun& after);

}  // namespace gradhaul

#include "scenarios/estimate_ends.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "core/packet_loss.h"
#include "scenarios/idle_keys.h"
#include "scenarios/quantity.h"

namespace gradhaul {
namespace {

using Kind = FilledValue::Kind;

// Keys that count only where a resource of the kind carries something.
struct OwnPart {
  std::string_view prefix;
  std::string_view kind;  // of a resource
};
constexpr std::array<OwnPart, 3> kOwnParts{{
    {"cluster.node.socket_link.", "socket_link"},
    {"cluster.node.nvlink.", "nvlink"},
    {"cluster.node.pcie_settings.", "pcie"},
}};

bool carries(const Prediction& prediction, std::string_view kind) {
  return std::any_of(prediction.resources.begin(), prediction.resources.end(),
                     [kind](const ResourceUse& use) { return use.kind == kind; });
}

// What passes before the first collective is no part of a row's time.
constexpr std::string_view kOfSetup = "cluster.node.nics.model.qp_setup";

// Where no resources are told of, anything may count.
bool may_count(const std::string& key, const Prediction& prediction) {
  if (key == kOfSetup) return false;
  if (prediction.resources.empty()) return true;
  return std::all_of(kOwnParts.begin(), kOwnParts.end(), [&](const OwnPart& part) {
    return !key.starts_with(part.prefix) || carries(prediction, part.kind);
  });
}

// A NIC that is told to wait for 2^n may wait for four times as long [IBTA vol. 1, 9.7], which
// no file has to say; 0 is for ever.
void add_timeout(const Scenario& scenario, std::vector<EstimateEnds>& all) {
  const int timeout = scenario.communication.timeout;
  if (scenario.communication.tcp || timeout == 0 || !may_lose_packets(scenario.cluster)) return;
  const FilledValue* given = scenario.filled.find_path("communication.timeout");
  if (given == nullptr || (!given->origin.from_default && given->origin.location.option())) return;
  all.push_back({"communication.timeout", given->text, given->text,
                 fmt::format("{}", std::min(timeout + 2, 31)), false});
}

// Half and twice of a number, in its unit; nothing where it is none ("auto", "unlimited").
std::optional<std::pair<std::string, std::string>> half_and_twice(const FilledValue& value) {
  if (value.kind == Kind::kReal) {
    const auto number = parse_real(value.text).value;
    if (!number) return {};
    return std::pair(fmt::format("{}", *number / 2), fmt::format("{}", *number * 2));
  }
  if (value.kind == Kind::kInteger) {
    const auto number = parse_count(value.text).value;
    if (!number) return {};
    return std::pair(fmt::format("{}", std::max<std::int64_t>(*number / 2, 1)),
                     fmt::format("{}", *number * 2));
  }
  if (value.kind != Kind::kText) return {};
  for (const Dimension dimension :
       {Dimension::kTime, Dimension::kRate, Dimension::kSize, Dimension::kLength}) {
    const auto number = parse_quantity(value.text, dimension).value;
    if (!number) continue;
    return std::pair(format_quantity(*number / 2, dimension),
                     format_quantity(*number * 2, dimension));
  }
  return {};
}

}  // namespace

std::vector<EstimateEnds> estimate_ends(const Scenario& scenario, const Prediction& prediction) {
  std::vector<EstimateEnds> all;
  for (const FoundEstimate& found : estimates_in(scenario.filled)) {
    if (!may_count(found.key, prediction) || !lacks_for_effect(scenario, found.key).empty()) {
      continue;
    }
    const Origin& origin = found.value->origin;
    if (!origin.low.empty()) {
      all.push_back({found.key, origin.low, found.value->text, origin.high, false});
    } else if (auto ends = half_and_twice(*found.value)) {
      all.push_back({found.key, ends->first, found.value->text, ends->second, true});
    }
  }
  add_timeout(scenario, all);
  return all;
}

}  // namespace gradhaul

#pragma once

// What a scenario's `expect` asks of a result, such as {busbw: ">=340GB/s", limited_by: nic}.
// Whoever reads the scenario splits each entry into name, operator and value; every row of the
// result has to meet every expectation.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace gradhaul {

enum class ExpectedQuantity : std::uint8_t { kTime, kAlgbw, kBusbw, kLimitedBy };
enum class Relation : std::uint8_t { kLess, kAtMost, kEqual, kAtLeast, kMore };

struct Expectation {
  ExpectedQuantity quantity = ExpectedQuantity::kBusbw;
  Relation comparison = Relation::kAtLeast;
  // kTime: seconds. kAlgbw, kBusbw: bytes a second. Compared without slack.
  double value = 0;
  // kLimitedBy: the name of a resource ("node0.nic0"), the kind of one ("nic"), "latency" or
  // "slots"; comparison is kEqual.
  std::string limited_by;
};

// "time", "algbw", "busbw", "limited_by"; nothing for any other name.
std::optional<ExpectedQuantity> expected_quantity(std::string_view name);
// "<", "<=", "==" or "=", ">=", ">"; nothing for any other sign.
std::optional<Relation> relation_of(std::string_view sign);

// One sentence for each row and expectation that does not hold; empty: all do.
std::vector<std::string> unmet_expectations(const std::vector<Expectation>& expectations,
                                            const Prediction& prediction);

}  // namespace gradhaul

#include "analysis/expectation.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "analysis/quantity_text.h"
#include "analysis/resource_group.h"
#include "core/busbw.h"

namespace gradhaul {
namespace {

using NamedQuantity = std::pair<std::string_view, ExpectedQuantity>;
using NamedComparison = std::pair<std::string_view, Relation>;

constexpr std::array<NamedQuantity, 4> kQuantities{{{"time", ExpectedQuantity::kTime},
                                                    {"algbw", ExpectedQuantity::kAlgbw},
                                                    {"busbw", ExpectedQuantity::kBusbw},
                                                    {"limited_by", ExpectedQuantity::kLimitedBy}}};
// The first sign of a comparison is the one that is printed.
constexpr std::array<NamedComparison, 6> kComparisons{{{"<", Relation::kLess},
                                                       {"<=", Relation::kAtMost},
                                                       {"==", Relation::kEqual},
                                                       {"=", Relation::kEqual},
                                                       {">=", Relation::kAtLeast},
                                                       {">", Relation::kMore}}};

template <typename Pairs, typename Value>
std::string_view name_in(const Pairs& pairs, Value value) {
  for (const auto& [name, named] : pairs) {
    if (named == value) return name;
  }
  return "?";
}

bool holds(double actual, Relation comparison, double expected) {
  switch (comparison) {
    case Relation::kLess:
      return actual < expected;
    case Relation::kAtMost:
      return actual <= expected;
    case Relation::kEqual:
      return actual == expected;
    case Relation::kAtLeast:
      return actual >= expected;
    case Relation::kMore:
      return actual > expected;
  }
  return false;
}

double actual_value(ExpectedQuantity quantity, const ResultRow& row) {
  switch (quantity) {
    case ExpectedQuantity::kTime:
      return row.time.seconds();
    case ExpectedQuantity::kAlgbw:
      return algbw(row.size, row.time);
    default:
      return busbw(row.collective, row.ranks, row.size, row.time);
  }
}

std::string value_text(ExpectedQuantity quantity, double value) {
  if (quantity == ExpectedQuantity::kTime) {
    return value < 1e-3 ? fmt::format("{:.4g}us", value * 1e6)
                        : fmt::format("{:.4g}ms", value * 1e3);
  }
  return fmt::format("{:.4g}GB/s", value / 1e9);
}

// The resource itself, its kind, or one of its equals: any of what shares the first place.
bool limited_so(const std::string& expected, const ResultRow& row, const Prediction& prediction) {
  const std::string_view name = first_name(row.limited_by);
  if (expected == name || expected == row.limited_by) return true;
  const std::string_view kind = kind_of(name, prediction.resources);
  if (!kind.empty()) return expected == kind;
  // Where resources are not told, the kind is the last part of the name: "node0.nic0" is a nic.
  const std::string shape = shape_of(name.substr(name.rfind('.') + 1));
  return expected == std::string_view(shape).substr(0, shape.find('*'));
}

}  // namespace

std::optional<ExpectedQuantity> expected_quantity(std::string_view name) {
  for (const auto& [known, quantity] : kQuantities) {
    if (known == name) return quantity;
  }
  return std::nullopt;
}

std::optional<Relation> relation_of(std::string_view sign) {
  for (const auto& [known, comparison] : kComparisons) {
    if (known == sign) return comparison;
  }
  return std::nullopt;
}

std::vector<std::string> unmet_expectations(const std::vector<Expectation>& expectations,
                                            const Prediction& prediction) {
  std::vector<std::string> unmet;
  for (const ResultRow& row : prediction.rows) {
    for (const Expectation& expectation : expectations) {
      const std::string_view name = name_in(kQuantities, expectation.quantity);
      const std::string size = bytes_text(row.size);
      if (expectation.quantity == ExpectedQuantity::kLimitedBy) {
        if (limited_so(expectation.limited_by, row, prediction)) continue;
        unmet.push_back(fmt::format("{} of {}: expected {}, but it is {}", name, size,
                                    expectation.limited_by, row.limited_by));
        continue;
      }
      const double actual = actual_value(expectation.quantity, row);
      if (holds(actual, expectation.comparison, expectation.value)) continue;
      unmet.push_back(fmt::format("{} of {}: expected {}{}, but it is {}", name, size,
                                  name_in(kComparisons, expectation.comparison),
                                  value_text(expectation.quantity, expectation.value),
                                  value_text(expectation.quantity, actual)));
    }
  }
  return unmet;
}

}  // namespace gradhaul

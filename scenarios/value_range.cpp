#include "scenarios/value_range.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "scenarios/quantity.h"

namespace gradhaul {
namespace {

constexpr const char* kForm = "is no range; one is FROM..TO:xFACTOR or FROM..TO:+STEP, as ";
constexpr const char* kExamples = "8B..8GiB:x2 or 1..64:+1";
// What is added up in binary fractions meets its end but for so much.
constexpr double kSlack = 1e-9;

struct RangeText {
  std::string from;
  std::string to;
  char sign = 'x';
  std::string by;
};

std::optional<RangeText> split(std::string_view text) {
  const std::size_t dots = text.find("..");
  const std::size_t colon = text.find(':', dots + 2);
  if (dots == text.npos || colon == text.npos || colon + 1 >= text.size()) return std::nullopt;
  const char sign = text[colon + 1];
  if (sign != 'x' && sign != '+') return std::nullopt;
  RangeText parts{std::string(text.substr(0, dots)),
                  std::string(text.substr(dots + 2, colon - dots - 2)), sign,
                  std::string(text.substr(colon + 2))};
  if (parts.from.empty() || parts.to.empty() || parts.by.empty()) return std::nullopt;
  return parts;
}

// Numbers of one kind: in base units of a dimension, or bare whole numbers.
struct WholeKind {
  std::optional<Dimension> dimension;

  std::optional<std::int64_t> parse(const std::string& text) const {
    return dimension ? parse_quantity(text, *dimension).value : parse_count(text).value;
  }
  std::string format(std::int64_t value) const {
    return dimension ? format_quantity(value, *dimension) : fmt::format("{}", value);
  }
};

std::optional<WholeKind> kind_of(const std::string& from) {
  constexpr std::array<std::optional<Dimension>, 5> kKinds{
      std::nullopt, Dimension::kSize, Dimension::kRate, Dimension::kTime, Dimension::kLength};
  for (const auto& dimension : kKinds) {
    if (WholeKind{dimension}.parse(from)) return WholeKind{dimension};
  }
  return std::nullopt;
}

RangeValues too_many() { return {{}, fmt::format("makes more than {} values", kMostAxisValues)}; }

// The factor, or why it is none.
double factor_of(const RangeText& range, std::string& error) {
  const auto factor = parse_real(range.by).value;
  if (factor && std::isfinite(*factor) && *factor > 1) return *factor;
  error = fmt::format("multiplies by {}; a factor is a number above 1, as x2", range.by);
  return 2;
}

RangeValues whole_values(const RangeText& range, const WholeKind& kind) {
  RangeValues result;
  const std::int64_t from = *kind.parse(range.from);
  const auto to = kind.parse(range.to);
  if (!to) {
    return {{},
            fmt::format("ends at \"{}\", which is not of the kind of {}", range.to, range.from)};
  }
  if (from > *to) return {{}, fmt::format("begins at {}, above its end", range.from)};
  const auto step = range.sign == '+' ? kind.parse(range.by) : std::optional<std::int64_t>(1);
  if (!step || *step < 1) {
    return {
        {},
        fmt::format("adds \"{}\"; a step is of the kind of {}, and above 0", range.by, range.from)};
  }
  const double factor = range.sign == 'x' ? factor_of(range, result.error) : 1;
  if (range.sign == 'x' && from < 1) result.error = "multiplies what is not above 0";
  if (!result.error.empty()) return result;
  for (std::int64_t value = from;;) {
    result.values.push_back(kind.format(value));
    if (result.values.size() > kMostAxisValues) return too_many();
    if (range.sign == '+') {
      if (*to - value < *step) break;
      value += *step;
      continue;
    }
    const double next = std::floor(static_cast<double>(value) * factor);
    if (next > static_cast<double>(*to)) break;
    value = std::max(static_cast<std::int64_t>(next), value + 1);
    if (value > *to) break;
  }
  return result;
}

RangeValues real_values(const RangeText& range) {
  RangeValues result;
  const auto from = parse_real(range.from).value;
  const auto to = parse_real(range.to).value;
  if (!from || !to) {
    return {{},
            fmt::format("goes from \"{}\" to \"{}\", which are not both numbers, or quantities "
                        "of one kind; as {}",
                        range.from, range.to, kExamples)};
  }
  if (*from > *to) return {{}, fmt::format("begins at {}, above its end", range.from)};
  const auto step = range.sign == '+' ? parse_real(range.by).value : std::optional<double>(1);
  if (!step || !(*step > 0)) return {{}, fmt::format("adds \"{}\", which is no step", range.by)};
  const double factor = range.sign == 'x' ? factor_of(range, result.error) : 1;
  if (range.sign == 'x' && !(*from > 0)) result.error = "multiplies what is not above 0";
  if (!result.error.empty()) return result;
  for (int i = 0;; ++i) {
    const double value = range.sign == '+' ? *from + i * *step : *from * std::pow(factor, i);
    if (value > *to + std::abs(*to) * kSlack) break;
    // What is left of binary fractions goes.
    result.values.push_back(fmt::format("{:.12g}", value));
    if (result.values.size() > kMostAxisValues) return too_many();
  }
  return result;
}

}  // namespace

bool is_value_range(std::string_view text) {
  // Of a path ("../nodes/mine.yaml") the dots stand beside a slash.
  const std::size_t dots = text.find("..");
  return dots != text.npos && dots > 0 && text.find('/') == text.npos;
}

RangeValues values_of_range(std::string_view text) {
  const auto range = split(text);
  if (!range) return {{}, std::string(kForm) + kExamples};
  const auto kind = kind_of(range->from);
  // "1..1.5:+0.1" begins with a whole number, and yet is of reals.
  const bool whole = kind && (kind->dimension || (kind->parse(range->to) &&
                                                  (range->sign == 'x' || kind->parse(range->by))));
  return whole ? whole_values(*range, *kind) : real_values(*range);
}

}  // namespace gradhaul

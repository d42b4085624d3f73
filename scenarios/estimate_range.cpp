#include "scenarios/estimate_range.h"

#include <fmt/format.h>

namespace gradhaul {
namespace {

template <typename Value>
void check(std::string_view key, const TreeNode& node, Value value, const Parsed<Value>& low,
           const Parsed<Value>& high, Problems& problems) {
  const EstimateRange& range = *node.range;
  if (!low.value || !high.value) {
    problems.add(range.location,
                 fmt::format(R"({}: "{}" {})", key, low.value ? range.high : range.low,
                             low.value ? high.error : low.error));
  } else if (*low.value > value || value > *high.value) {
    problems.add(range.location, fmt::format("{}: {} does not lie between {} and {}", key,
                                             node.text, range.low, range.high));
  }
}

}  // namespace

void check_range(std::string_view key, const TreeNode& node, std::int64_t value,
                 std::optional<Dimension> dimension, Problems& problems) {
  if (!node.range) return;
  const auto parse = [dimension](std::string_view end) {
    return dimension ? parse_quantity(end, *dimension) : parse_count(end);
  };
  check(key, node, value, parse(node.range->low), parse(node.range->high), problems);
}

void check_range(std::string_view key, const TreeNode& node, double value, Problems& problems) {
  if (!node.range) return;
  check(key, node, value, parse_real(node.range->low), parse_real(node.range->high), problems);
}

}  // namespace gradhaul

#pragma once

// Whether what an estimate is said to lie between can be.

#include <cstdint>
#include <optional>
#include <string_view>

#include "scenarios/config_error.h"
#include "scenarios/document.h"
#include "scenarios/quantity.h"

namespace gradhaul {

// Reports a range whose ends are no such numbers as the value, or that does not hold it. `value`:
// of the key, in base units; nothing for `dimension`: a bare whole number. Does nothing where the
// node has no range.
void check_range(std::string_view key, const TreeNode& node, std::int64_t value,
                 std::optional<Dimension> dimension, Problems& problems);
void check_range(std::string_view key, const TreeNode& node, double value, Problems& problems);

}  // namespace gradhaul

#pragma once

// A range of values as an axis of a sweep writes it: "8B..8GiB:x2", "1..64:+1", "0.01..1:x10".

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gradhaul {

inline constexpr std::size_t kMostAxisValues = 10000;

// Whether it is meant as a range at all: it has "..".
bool is_value_range(std::string_view text);

struct RangeValues {
  std::vector<std::string> values;  // as a user would write each
  std::string error;                // what is wrong, as a clause after the text; empty: nothing
};

// From FROM as far as TO, TO included where it is met. Both are quantities of one dimension, or
// bare numbers. `xFACTOR` multiplies (rounded down to whole base units), `+STEP` adds.
RangeValues values_of_range(std::string_view text);

}  // namespace gradhaul

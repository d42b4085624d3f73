#pragma once

// Quantities as the settings of scenarios/what_if.h write them.

#include <cmath>
#include <string>

#include "core/quantities.h"
#include "scenarios/quantity.h"

namespace gradhaul {

inline BitRate doubled(BitRate rate) { return {2 * rate.bits_per_second}; }
inline bool finite(BitRate rate) { return !rate.unlimited() && rate.bits_per_second > 0; }
// What moves bytes is named by them: "74GB/s"; links of the network by bits.
inline std::string byte_rate(BitRate rate) {
  const std::string bytes = format_bytes({rate.bits_per_second / 8});
  const bool decimal = rate.bits_per_second % 8 == 0 && bytes.find('i') == bytes.npos;
  return decimal ? bytes + "/s" : format_rate(rate);
}
inline std::string metres(double length) {
  return format_quantity(std::llround(length * 1000), Dimension::kLength);
}

}  // namespace gradhaul

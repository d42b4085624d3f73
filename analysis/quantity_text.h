#pragma once

// Quantities as people read them: three significant digits and a unit.

#include <string>

#include "core/quantities.h"

namespace gradhaul {

std::string duration_text(Duration duration);  // "70.1 ms", "850 ns", "4.00 us", "0 us"
// "64.1 of 70.1 ms": both in the unit of the whole.
std::string duration_of_text(Duration part, Duration whole);
std::string bytes_text(Bytes bytes);             // powers of 1000: "14 GB", "27.1 GB", "8 B"
std::string rate_text(double bytes_per_second);  // "49.7 GB/s"
std::string percent_text(double share);          // of 1: "97 %", "0.4 %"
std::string count_text(std::int64_t number);     // "7000", from a million on "13.1 million"

// Exactly, in microseconds, so that its shortest decimal form has no more than six decimals.
double microseconds(Duration duration);

}  // namespace gradhaul

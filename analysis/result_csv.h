#pragma once

// Rows as comma-separated values (RFC 4180, but lines end in \n): the fields of a row of the result
// file, under the same names, one line per row.

#include <string>

#include "core/result.h"

namespace gradhaul {

std::string csv_head();
std::string csv_line(const ResultRow& row);

// Head and all rows; where these are of several jobs, a field `job` more.
std::string result_csv(const Prediction& prediction);

// Of what was measured: the same, and after it wrong, in_place, iterations, min_us, p50_us, p99_us.
std::string result_csv(const Measurement& measurement);

}  // namespace gradhaul

#pragma once

// Rows as comma-separated values (RFC 4180, but lines end in \n): the fields of a row of the result
// file, under the same names, one line per row. The last column is the row's profile.

#include <string>

#include "core/result.h"

namespace gradhaul {

// What every table of rows begins with, whatever columns follow; without a line end.
std::string csv_head();
std::string csv_line(const ResultRow& row);

// Head and all rows; where these are of several jobs, a field `job` before the last.
std::string result_csv(const Prediction& prediction);

// Of what was measured: wrong, in_place, iterations, min_us, p50_us, p99_us before the last.
std::string result_csv(const Measurement& measurement);

}  // namespace gradhaul

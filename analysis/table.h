#pragma once

// The table of nccl-tests (src/common.cu, as printed up to 2.16 and as most parsers expect it),
// column for column, with the lines around it; further columns come after its own. Every line but
// the rows begins with '#', so that what parses nccl-tests parses this. A prediction shows its time
// in both halves and N/A for #wrong. What was measured has both halves and both numbers; a half
// that a collective does not have (all_to_all in place) is N/A.

#include <string>

#include "analysis/run_description.h"
#include "core/result.h"

namespace gradhaul {

// The line that says what was run, then the three lines of column heads.
std::string table_head(const Prediction& prediction, const RunDescription& run);

// One row, with its line end; and all of them, with what was chosen where plans were.
std::string table_row(const ResultRow& row);
std::string table_rows(const Prediction& prediction);

// "# Out of bounds values" and "# Avg bus bandwidth" (the mean busbw of all rows, out of place and
// in place).
std::string table_foot(const Prediction& prediction);

// Of what was measured: the rows of a size, one for each half, make one line.
std::string table_head(const Measurement& measurement, const RunDescription& run);
std::string table_rows(const Measurement& measurement);
// "Out of bounds values" counts the halves in which something was wrong, and then says FAILED.
std::string table_foot(const Measurement& measurement);

}  // namespace gradhaul

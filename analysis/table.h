#pragma once

// The table of nccl-tests (src/common.cu, as printed up to 2.16 and as most parsers expect it),
// column for column, with the lines around it; further columns come after its own. Every line but
// the rows begins with '#', so that what parses nccl-tests parses this. A prediction shows its time
// in both halves and N/A for #wrong.

#include <string>

#include "analysis/run_description.h"
#include "core/result.h"

namespace gradhaul {

// The line that says what was run, then the three lines of column heads.
std::string table_head(const Prediction& prediction, const RunDescription& run);

// One row, with its line end.
std::string table_row(const ResultRow& row);

// "# Out of bounds values" and "# Avg bus bandwidth" (the mean busbw of all rows, out of place and
// in place).
std::string table_foot(const Prediction& prediction);

}  // namespace gradhaul

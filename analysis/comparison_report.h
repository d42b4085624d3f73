#pragma once

// All that `gradhaul compare` prints on standard output: what is compared with what, the notes, the
// table, then a summary, the layers that may be at fault with the lines they were seen on, what the
// prediction of the worst row rests on, and counters beside each other. Every line but the table's
// rows begins with '#'.

#include <string>

#include "analysis/comparison.h"

namespace gradhaul {

std::string comparison_report(const Comparison& comparison, const std::string& version);

}  // namespace gradhaul

#pragma once

// All that a run prints on standard output: the table, then for the last row the bottleneck in a
// sentence, the parts of the time, the busiest resources and the counters that are not zero; then
// notes, cost and the digest. Equal resources are merged ("node*.nic* (32 equal)"). Every line but
// the table's rows begins with '#'.

#include <cstdint>
#include <string>

#include "analysis/run_description.h"
#include "core/result.h"

namespace gradhaul {

std::string report(const Prediction& prediction, const RunDescription& run);

// Of what was measured: the table, how its times came about, the iterations' spread, notes, and
// what failed.
std::string report(const Measurement& measurement, const RunDescription& run);

// Parts of a report: the busiest resources and the counters that are not zero; notes and digest.
std::string resources_text(const Prediction& prediction);
std::string closing_text(const Prediction& prediction);

// The digest as it stands in reports and result files: 16 hexadecimal digits.
std::string digest_text(std::uint64_t digest);

}  // namespace gradhaul

#pragma once

// Which plans were taken for which sizes, in words.

#include <functional>
#include <string>
#include <vector>

#include "core/result.h"

namespace gradhaul {

using PlanOfRow = std::function<WeighedPlan(const ResultRow&)>;

std::string plan_text(const WeighedPlan& plan);  // "ring/simple"
std::string size_text(Bytes size);               // "4 MiB", "100 B"

// "double_binary_tree/ll up to 128 KiB, then ring/simple", in the order of the rows.
std::string plan_ranges(const std::vector<ResultRow>& rows, const PlanOfRow& plan);

// Where NCCL would reduce inside switches, which this program does not model: says so, and what
// that means for busbw.
void add_switch_note(const std::vector<ResultRow>& rows, const PlanOfRow& plan,
                     std::vector<std::string>& notes);

}  // namespace gradhaul

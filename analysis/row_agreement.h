#pragma once

// What two runs have to share before their rows can be compared, and what they may differ in.

#include <string>
#include <vector>

#include "analysis/compared_run.h"

namespace gradhaul {

// Throws Incomparable (analysis/comparison.h) with all reasons where the runs are of different
// collectives or rank counts, or measure what no prediction stands for. Rows of other collectives
// are taken out of `measured`; every difference that leaves a comparison possible becomes a note.
void require_agreement(const ComparedRun& predicted, ComparedRun& measured,
                       std::vector<std::string>& notes);

// What NCCL or the measuring side chose for a size, where it is not what was predicted: "tree, ll
// (line 231)"; empty where it is, or is not known.
std::string choice_remark(const ComparedRow& predicted, const ComparedRow& measured,
                          const NcclFacts& nccl);

// What the log says NCCL chose for this row; null where it does not say.
const NcclFacts::Choice* choice_for(const ComparedRow& row, const NcclFacts& nccl);

}  // namespace gradhaul

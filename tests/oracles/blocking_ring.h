#pragma once

// The textbook ring all-reduce (Patarasuk & Yuan 2009), every rank in step: what each sends, it has
// sent before anybody receives. No slots, credits, slices or completions; hence the oracle of
// core/ring_schedule.h, whose chunks begin at the same places: that of chunk k at position k.

#include <vector>

#include "core/message_plan.h"
#include "tests/oracles/sequential_reference.h"

namespace gradhaul::oracle {

// `ranks[r]` is the input of rank r, and becomes its output. One ring of all ranks per channel of
// the plan, whose parts are the ranks.
void blocking_ring_all_reduce(std::vector<Elements>& ranks, const MessagePlan& plan,
                              const std::vector<std::vector<Rank>>& rings, Reduction reduction);

}  // namespace gradhaul::oracle

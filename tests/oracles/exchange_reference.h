#pragma once

// What every rank must hold after the algorithms that are no rings or trees of all ranks, one
// element at a time, in the order of operations that each schedule's header defines
// (sequential_reference.h has the others).

#include "core/make_schedule.h"
#include "tests/oracles/sequential_reference.h"

namespace gradhaul::oracle {

// The inputs of all ranks, and how they are reduced.
struct ReducedInputs {
  const std::vector<Elements>& inputs;
  DataType datatype = DataType::kFp32;
  Reduction reduction = Reduction::kSum;
};

// Part r of the result is at part r; the other parts are left out of it, as zeros.
Elements ring_reduce_scattered(const ReducedInputs& of, const std::vector<std::vector<Rank>>& rings,
                               Rank rank);
Elements all_gathered(const std::vector<Elements>& inputs);

// In ranks' order, rank 0's own first.
Elements server_reduced(const ReducedInputs& of);

// `orders[c]`: which rank stands where in the cube of channel c.
Elements halving_doubling_reduced(const ReducedInputs& of,
                                  const std::vector<std::vector<Rank>>& orders);
Elements recursive_doubling_reduced(const ReducedInputs& of,
                                    const std::vector<std::vector<Rank>>& orders);

Elements hierarchically_reduced(const ReducedInputs& of,
                                const std::vector<std::vector<Rank>>& rings, int ranks_per_node);

}  // namespace gradhaul::oracle

#pragma once

// What every rank must hold after a collective, one element at a time, in the order of operations
// that its schedule defines; since floating-point sums depend on it, to the last bit.
//
//   ring    chunk k: the input at position k, then each next position's: own op what came.
//   tree    own input op child op child …, each child its own subtree's result; children in the
//           order of core/double_binary_tree_schedule.h: the next of the chain, then the tree's by
//           place.
//   any     for integers, and for maxima and minima, the order is nothing: a second, order-free
//           reference checks the ordered ones.

#include <cstdint>
#include <vector>

#include "core/communication.h"
#include "core/message_plan.h"
#include "core/workload.h"
#include "tests/oracles/element_oracle.h"

namespace gradhaul::oracle {

// Bit patterns, as in element_oracle.h.
using Elements = std::vector<std::uint32_t>;

// The whole message, each rank the same. The plan's parts are the ranks.
Elements ring_all_reduced(const std::vector<Elements>& inputs, const MessagePlan& plan,
                          const std::vector<std::vector<Rank>>& rings, Reduction reduction);

// The plan's parts are the trees. `rings` and `ranks_per_node` as DoubleBinaryTreeSchedule has
// them.
Elements tree_all_reduced(const std::vector<Elements>& inputs, const MessagePlan& plan,
                          const std::vector<std::vector<Rank>>& rings, Reduction reduction,
                          int ranks_per_node);

// Integers with any reduction, every type with kMax and kMin: straight from the definition, in
// exact arithmetic over all ranks at once.
Elements order_free_reduced(const std::vector<Elements>& inputs, DataType type,
                            Reduction reduction);

// Output of rank r of all_to_all: part r of every rank's input, by rank. `part` elements each.
Elements all_to_all_output(const std::vector<Elements>& inputs, Rank rank, std::int64_t part);

}  // namespace gradhaul::oracle

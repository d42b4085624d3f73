// The references against each other and against closed forms, since everything else is compared
// with them.

#include <gtest/gtest.h>

#include <vector>

#include "tests/conformance/collective_runs.h"
#include "tests/oracles/blocking_ring.h"
#include "tests/oracles/sequential_reference.h"

namespace gradhaul::conformance {
namespace {

constexpr std::array kReductions{Reduction::kSum, Reduction::kAvg, Reduction::kMax,
                                 Reduction::kMin};

std::vector<Elements> inputs_of(const CollectiveCase& c) {
  std::vector<Elements> inputs;
  for (Rank rank = 0; rank < c.ranks; ++rank) {
    Elements& input = inputs.emplace_back();
    for (std::int64_t i = 0; i < c.count; ++i) input.push_back(element_for(c, rank, i));
  }
  return inputs;
}

// `check` is given each case, its inputs and its rings.
template <typename Check>
void for_each_case(const Check& check) {
  std::uint64_t seed = 0;
  for (const DataType type : kDataTypes) {
    for (const Reduction reduction : kReductions) {
      for (const Rank ranks : {2, 3, 6, 12}) {
        for (const int ranks_per_node : {1, 3}) {
          if (ranks % ranks_per_node != 0) continue;
          CollectiveCase c;
          c.ranks = ranks;
          c.ranks_per_node = ranks_per_node;
          c.count = 101;
          c.channels = 2;
          c.datatype = type;
          c.reduction = reduction;
          c.seed = ++seed;
          check(c, inputs_of(c), rings_of(c));
        }
      }
    }
  }
}

TEST(References, TheTextbookRingAndTheOrderOfChunksAgree) {
  for_each_case([](const CollectiveCase& c, const std::vector<Elements>& inputs,
                   const std::vector<std::vector<Rank>>& rings) {
    const MessagePlan plan(c.count, c.datatype, c.channels, c.ranks, c.slot_size);
    const Elements expected = oracle::ring_all_reduced(inputs, plan, rings, c.reduction);
    std::vector<Elements> ranks = inputs;
    oracle::blocking_ring_all_reduce(ranks, plan, rings, c.reduction);
    for (const Elements& rank : ranks) EXPECT_EQ(rank, expected) << c;
  });
}

TEST(References, WhereTheOrderIsNothingTheOrderedOnesAgreeWithTheDefinition) {
  for_each_case([](const CollectiveCase& c, const std::vector<Elements>& inputs,
                   const std::vector<std::vector<Rank>>& rings) {
    const bool extreme = c.reduction == Reduction::kMax || c.reduction == Reduction::kMin;
    if (!is_integer(c.datatype) && !extreme) return;
    const Elements expected = oracle::order_free_reduced(inputs, c.datatype, c.reduction);
    const MessagePlan ring(c.count, c.datatype, c.channels, c.ranks, c.slot_size);
    EXPECT_EQ(oracle::ring_all_reduced(inputs, ring, rings, c.reduction), expected) << c;
    const MessagePlan tree(c.count, c.datatype, c.channels, 2, c.slot_size);
    EXPECT_EQ(oracle::tree_all_reduced(inputs, tree, rings, c.reduction, c.ranks_per_node),
              expected)
        << c;
  });
}

// Rank r brings r + i: the sum is N(N-1)/2 + N i, exactly, in every type that holds the integers.
TEST(References, SumsOfSmallIntegersAreTheClosedForm) {
  for (const DataType type : {DataType::kFp32, DataType::kFp16}) {
    for (const Rank n : {2, 5, 8}) {
      std::vector<Elements> inputs;
      Elements expected;
      for (std::int64_t i = 0; i < 20; ++i) {
        const std::int64_t sum = n * (n - 1) / 2 + n * i;
        expected.push_back(oracle::element_of(type, static_cast<double>(sum)));
      }
      std::vector<Rank> ring;
      for (Rank rank = 0; rank < n; ++rank) {
        ring.push_back(rank);
        Elements& input = inputs.emplace_back();
        for (std::int64_t i = 0; i < 20; ++i) {
          input.push_back(oracle::element_of(type, static_cast<double>(rank + i)));
        }
      }
      EXPECT_EQ(oracle::ring_all_reduced(inputs, {20, type, 1, n, {4}}, {ring}, Reduction::kSum),
                expected);
      EXPECT_EQ(oracle::tree_all_reduced(inputs, {20, type, 1, 2, {4}}, {ring}, Reduction::kSum, 1),
                expected);
    }
  }
}

// The order matters, or comparing bits would prove little: 2^24 + 1 + 1 is 2^24 from the left in
// fp32, where 1 + 1 + 2^24 is 2^24 + 2.
TEST(References, OrderShowsInFloatingPointSums) {
  const auto fp32 = [](double value) { return oracle::element_of(DataType::kFp32, value); };
  const std::vector<Elements> inputs{{fp32(0x1p24)}, {fp32(1)}, {fp32(1)}};
  const MessagePlan plan(1, DataType::kFp32, 1, 3, {4});
  EXPECT_EQ(oracle::ring_all_reduced(inputs, plan, {{0, 1, 2}}, Reduction::kSum),
            Elements{fp32(0x1p24)});
  EXPECT_EQ(oracle::ring_all_reduced(inputs, plan, {{1, 2, 0}}, Reduction::kSum),
            Elements{fp32(0x1p24 + 2)});
}

}  // namespace
}  // namespace gradhaul::conformance

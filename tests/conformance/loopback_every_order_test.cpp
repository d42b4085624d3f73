// Small collectives in every order of deliveries: none stalls, and each ends with the right bits.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/conformance/collective_runs.h"
#include "tests/conformance/every_order.h"

namespace gradhaul::conformance {
namespace {

// Tens of thousands of states take too long under sanitizers.
#if defined(__SANITIZE_ADDRESS__)
constexpr int kMostSlots = 1;
constexpr std::int64_t kElementsOfTwo = 3;
constexpr std::int64_t kElementsOfThree = 1;
#else
constexpr int kMostSlots = 2;
constexpr std::int64_t kElementsOfTwo = 4;
constexpr std::int64_t kElementsOfThree = 2;
#endif

EveryOrder in_every_order(const CollectiveCase& c, bool merging) {
  CollectiveRun run(c);
  LoopbackWorldSettings settings;
  settings.engine = run.engine_settings();
  settings.input_elements = settings.output_elements = run.elements();
  settings.in_place = c.in_place;
  settings.fabric.poison_returned_slots = true;
  settings.fabric.check_sources = true;
  const auto make_world = [&] {
    auto world = std::make_unique<LoopbackWorld>(run.schedule(), settings);
    for (Rank rank = 0; rank < c.ranks; ++rank) run.fill(rank, world->input(rank));
    return world;
  };
  const auto check = [&](LoopbackWorld& world) {
    std::string fault;
    for (Rank rank = 0; rank < c.ranks && fault.empty(); ++rank) {
      fault = run.check_output(rank, world.output(rank));
    }
    return fault;
  };
  return EveryOrderExplorer(make_world, check).explore(merging);
}

void expect_right_in_every_order(const CollectiveCase& c) {
  const EveryOrder result = in_every_order(c, true);
  EXPECT_EQ(result.fault, "") << c;
  // Whatever the order, the end is the same state.
  EXPECT_EQ(result.ends, 1) << c;
  testing::Test::RecordProperty("states", std::to_string(result.states));
}

TEST(LoopbackEveryOrder, RingOfTwo) {
  for (const bool in_place : {false, true}) {
    expect_right_in_every_order({.ranks = 2,
                                 .count = 2,
                                 .slots = 1,
                                 .slot_size = {4},
                                 .datatype = DataType::kFp32,
                                 .in_place = in_place,
                                 .seed = 1});
  }
}

TEST(LoopbackEveryOrder, RingOfTwoInTwoSlices) {
  for (const int slots : {1, 2}) {
    if (slots > kMostSlots) continue;
    expect_right_in_every_order({.ranks = 2,
                                 .count = kElementsOfTwo,
                                 .slots = slots,
                                 .slot_size = {4},
                                 .datatype = DataType::kFp32,
                                 .in_place = true,
                                 .seed = 2});
  }
}

// One or two of the three chunks have an element, which goes round twice.
TEST(LoopbackEveryOrder, RingOfThree) {
  expect_right_in_every_order({.ranks = 3,
                               .count = kElementsOfThree,
                               .slots = 1,
                               .slot_size = {4},
                               .datatype = DataType::kFp32,
                               .in_place = true,
                               .seed = 3});
}

TEST(LoopbackEveryOrder, TreesOfTwoAndThree) {
  for (const Rank ranks : {2, 3}) {
    expect_right_in_every_order({.algorithm = Algorithm::kDoubleBinaryTree,
                                 .ranks = ranks,
                                 .count = ranks == 2 ? kElementsOfTwo / 2 : 1,
                                 .slots = 1,
                                 .slot_size = {4},
                                 .datatype = DataType::kFp32,
                                 .in_place = true,
                                 .seed = 4});
  }
}

TEST(LoopbackEveryOrder, AllToAllOfTwo) {
  expect_right_in_every_order({.collective = Collective::kAllToAll,
                               .ranks = 2,
                               .count = 4,
                               .slots = 1,
                               .slot_size = {4},
                               .seed = 5});
}

// Merging loses nothing: of the smallest exchange, the orders and the states are counted. At each
// of two ranks, kWriteDone may come at any time, and an arrival is followed by its copy, that by
// both completions of the credit: two single nodes and two trees of four. Their 10 deliveries have
// 10! / (4 * 3)^2 = 25200 orders (hook lengths: Knuth, TAOCP vol. 3, 5.1.4 exercise 20), and
// 2 * 2 * 6 * 6 = 144 sets of them are closed under "comes before".
TEST(LoopbackEveryOrder, CountsOrdersAndStatesOfASingleExchange) {
  const CollectiveCase exchange{.collective = Collective::kSendRecv,
                                .ranks = 2,
                                .count = 1,
                                .slots = 1,
                                .slot_size = {4},
                                .seed = 6};
  const EveryOrder each = in_every_order(exchange, false);
  EXPECT_EQ(each.fault, "");
  EXPECT_EQ(each.ends, 25200);
  const EveryOrder merged = in_every_order(exchange, true);
  EXPECT_EQ(merged.fault, "");
  EXPECT_EQ(merged.ends, 1);
  EXPECT_EQ(merged.states, 144);
}

}  // namespace
}  // namespace gradhaul::conformance

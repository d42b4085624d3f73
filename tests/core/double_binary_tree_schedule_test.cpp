#include "core/double_binary_tree_schedule.h"

#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <utility>

#include "tests/core/schedule_cases.h"

namespace gradhaul {
namespace {

using namespace literals;

// As drawn in NCCL's src/graph/trees.cc for 14 ranks.
TEST(BinaryTreePlace, IsTheTreeOf14AsDrawn) {
  const std::map<int, int> parents = {{0, -1},  {8, 0}, {4, 8}, {12, 8}, {2, 4}, {6, 4},  {10, 12},
                                      {13, 12}, {1, 2}, {3, 2}, {5, 6},  {7, 6}, {9, 10}, {11, 10}};
  for (const auto& [node, parent] : parents) {
    EXPECT_EQ(binary_tree_place(node, 14, 0).parent, parent) << node;
    // Mirrored for an even number.
    EXPECT_EQ(binary_tree_place(13 - node, 14, 1).parent, parent < 0 ? -1 : 13 - parent) << node;
  }
}

TEST(BinaryTreePlace, IsShiftedForAnOddNumber) {
  for (int node = 0; node < 13; ++node) {
    const int parent = binary_tree_place(node, 13, 0).parent;
    EXPECT_EQ(binary_tree_place((node + 1) % 13, 13, 1).parent,
              parent < 0 ? -1 : (parent + 1) % 13);
  }
}

int depth(int node, int nodes, int tree) {
  int steps = 0;
  for (int at = node; at >= 0; at = binary_tree_place(at, nodes, tree).parent) {
    if (++steps > nodes) return nodes + 1;  // a cycle
  }
  return steps;
}

TEST(BinaryTreePlace, MakesATreeOfLogarithmicDepthOfEveryNumber) {
  for (int nodes = 1; nodes <= 300; ++nodes) {
    for (const int tree : {0, 1}) {
      int edges = 0;
      for (int node = 0; node < nodes; ++node) {
        const BinaryTreePlace place = binary_tree_place(node, nodes, tree);
        for (const int child : place.children) {
          if (child < 0) continue;
          ++edges;
          ASSERT_EQ(binary_tree_place(child, nodes, tree).parent, node);
        }
        // The root alone, then a complete binary tree over the others.
        ASSERT_LE(depth(node, nodes, tree), 1 + std::bit_width(static_cast<unsigned>(nodes - 1)));
      }
      ASSERT_EQ(edges, nodes - 1);
    }
  }
}

TEST(BinaryTreePlace, InnerInOneTreeIsLeafInTheOther) {
  for (int nodes = 2; nodes <= 300; ++nodes) {
    for (int node = 0; node < nodes; ++node) {
      int inner = 0;
      int sends = 0;
      for (const int tree : {0, 1}) {
        const BinaryTreePlace place = binary_tree_place(node, nodes, tree);
        const int children = (place.children[0] >= 0) + (place.children[1] >= 0);
        inner += children > 0 ? 1 : 0;
        sends += children + (place.parent >= 0 ? 1 : 0);
      }
      // Of an odd number one can't be avoided: node 0, root of the first with one child only.
      ASSERT_LE(inner, nodes % 2 == 1 && node == 0 ? 2 : 1);
      ASSERT_LE(sends, 4);  // of half the data each
    }
  }
}

TEST(DoubleBinaryTreeSchedule, HalvesTheDataOverBothTrees) {
  const MessagePlan plan(20, DataType::kFp32, 1, 2, 16_B);
  const DoubleBinaryTreeSchedule schedule(plan, turned_rings(1, 4), 1);
  EXPECT_EQ(schedule.lanes(), 4);
  EXPECT_EQ(schedule.items(0, 0, 0), 3);
  EXPECT_EQ(schedule.item(0, 0, 0, 1).span, (Span{4, 4}));
  EXPECT_EQ(schedule.item(0, 0, 1, 1).span, (Span{4, 4}));
  EXPECT_EQ(schedule.item(0, 0, 2, 2).span, (Span{18, 2}));
  EXPECT_EQ(schedule.item(0, 0, 3, 2).span, (Span{18, 2}));
}

// Four nodes of one rank: 0 - 2 - {1, 3}, and mirrored 3 - 1 - {2, 0}.
TEST(DoubleBinaryTreeSchedule, ReducesUpAndCopiesDown) {
  const DoubleBinaryTreeSchedule schedule(MessagePlan(8, DataType::kFp32, 1, 2, 64_B),
                                          turned_rings(1, 4), 1);
  const Item root_up = schedule.item(0, 0, 0, 0);
  EXPECT_EQ(root_up.operation, Operation::kReduce);
  EXPECT_TRUE(root_up.last_reduction);
  EXPECT_EQ(root_up.receive_count, 1);
  EXPECT_EQ(root_up.send_count, 0);
  const Item root_down = schedule.item(0, 0, 1, 0);
  EXPECT_EQ(root_down.operation, Operation::kNone);
  ASSERT_TRUE(root_down.after.has_value());
  EXPECT_EQ(root_down.after->lane, 0);
  EXPECT_EQ(root_down.sends[0].peer, 2);

  const Item inner_up = schedule.item(2, 0, 0, 0);
  EXPECT_EQ(inner_up.receive_count, 2);
  EXPECT_FALSE(inner_up.last_reduction);
  EXPECT_EQ(inner_up.sends[0].peer, 0);
  EXPECT_EQ(inner_up.sends[0].source, Region::kOutput);
  const Item leaf_up = schedule.item(2, 0, 2, 0);
  EXPECT_EQ(leaf_up.operation, Operation::kNone);
  EXPECT_EQ(leaf_up.sends[0].peer, 1);
  EXPECT_EQ(leaf_up.sends[0].source, Region::kInput);
  const Item leaf_down = schedule.item(2, 0, 3, 0);
  EXPECT_EQ(leaf_down.operation, Operation::kCopy);
  EXPECT_EQ(leaf_down.send_count, 0);
  EXPECT_EQ(leaf_down.after->lane, 2);
}

// Two nodes of four; the ring enters the first at GPU 1 and leaves the second there.
TEST(DoubleBinaryTreeSchedule, ChainsTheRanksOfANodeAndStaysOnARail) {
  const DoubleBinaryTreeSchedule schedule(MessagePlan(8, DataType::kFp32, 1, 1, 64_B),
                                          {{1, 0, 2, 3, 7, 6, 4, 5}}, 4);
  const auto parent = [&](Rank rank) {
    const Item up = schedule.item(rank, 0, 0, 0);
    return up.send_count == 0 ? -1 : up.sends[0].peer;
  };
  EXPECT_EQ(parent(3), 2);
  EXPECT_EQ(parent(2), 0);
  EXPECT_EQ(parent(0), 1);
  EXPECT_EQ(parent(1), -1);
  EXPECT_EQ(parent(5), 1);  // the second node's chain turned round: 5, 4, 6, 7
  EXPECT_EQ(parent(4), 5);
  EXPECT_EQ(parent(6), 4);
  EXPECT_EQ(parent(7), 6);
  EXPECT_EQ(schedule.item(1, 0, 0, 0).receive_count, 2);
}

TEST(DoubleBinaryTreeSchedule, SendsNoMoreThanTwiceTheSizeBetweenNodes) {
  for (int nodes = 2; nodes <= 32; ++nodes) {
    const std::int64_t count = 2 * 12;
    const DoubleBinaryTreeSchedule schedule(MessagePlan(count, DataType::kFp32, 1, 2, 1_KiB),
                                            turned_rings(1, nodes * 4), 4);
    std::vector<std::int64_t> sent(static_cast<std::size_t>(nodes), 0);
    std::int64_t total = 0;
    for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
      for (int lane = 0; lane < 4; ++lane) {
        const Item item = schedule.item(rank, 0, lane, 0);
        for (int s = 0; s < item.send_count; ++s) {
          const ItemSend& send = item.sends[static_cast<std::size_t>(s)];
          if (send.peer / 4 == rank / 4) continue;
          sent[static_cast<std::size_t>(rank / 4)] += send.span.count;
          total += send.span.count;
        }
      }
    }
    for (const std::int64_t elements : sent) EXPECT_LE(elements, 2 * count);
    EXPECT_EQ(total, 2 * (nodes - 1) * count);
  }
}

}  // namespace
}  // namespace gradhaul

#include "core/parallel_groups.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace gradhaul {
namespace {

using Groups = std::vector<std::vector<Rank>>;

Groups of_all_stages(const ParallelLayout& layout, GroupKind kind) {
  Groups groups;
  for (int stage = 0; stage < layout.pipeline; ++stage) {
    for (auto& group : parallel_groups(layout, kind, stage)) groups.push_back(group);
  }
  return groups;
}

// The example that Megatron-LM documents: 16 GPUs, tensor 2, pipeline 4
// (megatron/core/parallel_state.py, initialize_model_parallel).
TEST(ParallelGroups, AreThoseOfMegatron) {
  const ParallelLayout layout{2, 2, 4};
  EXPECT_EQ(layout.ranks(), 16);
  EXPECT_EQ(of_all_stages(layout, GroupKind::kTensor),
            (Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}, {12, 13}, {14, 15}}));
  EXPECT_EQ(of_all_stages(layout, GroupKind::kData),
            (Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}, {8, 10}, {9, 11}, {12, 14}, {13, 15}}));
  // Pipelines [0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14] and [3, 7, 11, 15], pair by pair.
  EXPECT_EQ(of_all_stages(layout, GroupKind::kPipeline), (Groups{{0, 4},
                                                                 {1, 5},
                                                                 {2, 6},
                                                                 {3, 7},
                                                                 {4, 8},
                                                                 {5, 9},
                                                                 {6, 10},
                                                                 {7, 11},
                                                                 {8, 12},
                                                                 {9, 13},
                                                                 {10, 14},
                                                                 {11, 15}}));
}

TEST(ParallelGroups, HoldEveryRankOnce) {
  for (const ParallelLayout& layout :
       {ParallelLayout{1, 8, 1}, ParallelLayout{8, 1, 1}, ParallelLayout{2, 3, 5}}) {
    std::vector<Rank> all;
    for (Rank rank = 0; rank < layout.ranks(); ++rank) all.push_back(rank);
    for (const GroupKind kind : {GroupKind::kTensor, GroupKind::kData}) {
      std::vector<Rank> held;
      for (const auto& group : of_all_stages(layout, kind)) {
        held.insert(held.end(), group.begin(), group.end());
        EXPECT_TRUE(std::is_sorted(group.begin(), group.end()));
      }
      std::sort(held.begin(), held.end());
      EXPECT_EQ(held, all);
    }
    EXPECT_EQ(parallel_groups(layout, GroupKind::kAll, 0), (Groups{all}));
    EXPECT_TRUE(parallel_groups(layout, GroupKind::kPipeline, layout.pipeline - 1).empty());
  }
}

}  // namespace
}  // namespace gradhaul

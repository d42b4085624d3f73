#include "analysis/resource_group.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/analysis/sample_prediction.h"

namespace gradhaul {
namespace {

TEST(ResourceGroup, AShapeIsTheNameWithoutItsNumbers) {
  EXPECT_EQ(shape_of("node0.nic13"), "node*.nic*");
  EXPECT_EQ(shape_of("leaf0-spine1"), "leaf*-spine*");
  EXPECT_EQ(shape_of("leaf10:3"), "leaf*:*");
  EXPECT_EQ(shape_of(""), "");
}

TEST(ResourceGroup, ACommonNameKeepsSharedNumbers) {
  EXPECT_EQ(common_name({"node0.nic1", "node2.nic1"}), "node*.nic1");
  EXPECT_EQ(common_name({"node0.nic1", "node0.nic2"}), "node0.nic*");
  EXPECT_EQ(common_name({"node0.nic1"}), "node0.nic1");
  EXPECT_EQ(common_name({"node1.nic11", "node11.nic1"}), "node*.nic*");
}

TEST(ResourceGroup, EqualNamesSayHowMany) {
  EXPECT_EQ(equal_names({"node0.nic0", "node1.nic0"}), "node*.nic0 (2 equal)");
  EXPECT_EQ(equal_names({"node0.nic0"}), "node0.nic0");
}

TEST(ResourceGroup, LimitedByIsTakenApart) {
  EXPECT_EQ(first_name("node0.nic0 (32 equal)"), "node0.nic0");
  EXPECT_EQ(equal_count("node0.nic0 (32 equal)"), 32);
  EXPECT_EQ(first_name("latency"), "latency");
  EXPECT_EQ(equal_count("latency"), 1);
}

TEST(ResourceGroup, UsesThatAreAlikeAreOneGroup) {
  const Prediction prediction = testing::sample_prediction();
  const std::vector<UseGroup> groups = group_by_use(prediction.resources);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].names.size(), 2U);
  EXPECT_EQ(groups[0].kind, "nic");
  EXPECT_EQ(groups[0].blame, Duration{66'000'000'000});
  EXPECT_EQ(groups[1].kind, "reduce");
}

TEST(ResourceGroup, WhatStandsOutStandsAlone) {
  std::vector<ResourceUse> resources;
  for (const double use : {0.50, 0.515, 0.53, 0.97}) {
    resources.push_back({"node0.nic" + std::to_string(resources.size()), "nic", use, {}, {}});
  }
  const std::vector<UseGroup> groups = group_by_use(resources);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(equal_names(groups[0].names), "node0.nic3");
  EXPECT_EQ(groups[1].names.size(), 3U);
  EXPECT_EQ(groups[1].highest, 0.53);
  EXPECT_EQ(groups[1].lowest, 0.50);
}

TEST(ResourceGroup, TheBusiestComesFirst) {
  Prediction prediction = testing::sample_prediction();
  prediction.resources[0].utilisation = 1.0;
  EXPECT_EQ(group_by_use(prediction.resources)[0].kind, "reduce");
}

TEST(ResourceGroup, KindsAreFoundByName) {
  EXPECT_EQ(kind_of("node0.nic0", testing::sample_prediction().resources), "nic");
  EXPECT_EQ(kind_of("node9.nic0", testing::sample_prediction().resources), "");
  EXPECT_EQ(kind_in_words("nic"), "NIC wire");
  EXPECT_EQ(kind_in_words("something new"), "something new");
}

}  // namespace
}  // namespace gradhaul

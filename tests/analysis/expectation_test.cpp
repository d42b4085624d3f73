#include "analysis/expectation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/analysis/sample_prediction.h"

namespace gradhaul {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::string> unmet(const Expectation& expectation) {
  return unmet_expectations({expectation}, testing::sample_prediction());
}

TEST(Expectation, NamesAndSignsAreKnown) {
  EXPECT_EQ(expected_quantity("busbw"), ExpectedQuantity::kBusbw);
  EXPECT_EQ(expected_quantity("limited_by"), ExpectedQuantity::kLimitedBy);
  EXPECT_EQ(expected_quantity("speed"), std::nullopt);
  EXPECT_EQ(relation_of(">="), Relation::kAtLeast);
  EXPECT_EQ(relation_of("="), Relation::kEqual);
  EXPECT_EQ(relation_of("=>"), std::nullopt);
}

TEST(Expectation, WhatHoldsIsSilent) {
  EXPECT_THAT(unmet({ExpectedQuantity::kBusbw, Relation::kAtLeast, 340e9, ""}), IsEmpty());
  EXPECT_THAT(unmet({ExpectedQuantity::kTime, Relation::kAtMost, 80e-3, ""}), IsEmpty());
  EXPECT_THAT(unmet({ExpectedQuantity::kAlgbw, Relation::kLess, 200e9, ""}), IsEmpty());
}

TEST(Expectation, WhatDoesNotHoldIsSaidInWords) {
  EXPECT_THAT(unmet({ExpectedQuantity::kBusbw, Relation::kAtLeast, 390e9, ""}),
              ElementsAre("busbw of 14 GB: expected >=390GB/s, but it is 386.8GB/s"));
  EXPECT_THAT(unmet({ExpectedQuantity::kTime, Relation::kAtMost, 60e-3, ""}),
              ElementsAre("time of 14 GB: expected <=60ms, but it is 70.12ms"));
  EXPECT_THAT(unmet({ExpectedQuantity::kLimitedBy, Relation::kEqual, 0, "latency"}),
              ElementsAre("limited_by of 14 GB: expected latency, but it is node0.nic0 (2 equal)"));
}

TEST(Expectation, BoundsAreTakenExactly) {
  Prediction prediction = testing::sample_prediction();
  prediction.rows[0].time = Duration{80'000'000'000};
  const auto count = [&](Relation comparison) {
    return unmet_expectations({{ExpectedQuantity::kTime, comparison, 0.08, ""}}, prediction).size();
  };
  EXPECT_EQ(count(Relation::kAtMost), 0U);
  EXPECT_EQ(count(Relation::kEqual), 0U);
  EXPECT_EQ(count(Relation::kLess), 1U);
  EXPECT_EQ(count(Relation::kMore), 1U);
}

TEST(Expectation, ALimitIsNamedByResourceOrByKind) {
  for (const char* name : {"node0.nic0", "nic", "node0.nic0 (2 equal)"}) {
    EXPECT_THAT(unmet({ExpectedQuantity::kLimitedBy, Relation::kEqual, 0, name}), IsEmpty())
        << name;
  }
  for (const char* name : {"node1.nic1", "pcie", "node0", "slots", ""}) {
    EXPECT_THAT(unmet({ExpectedQuantity::kLimitedBy, Relation::kEqual, 0, name}), SizeIs(1))
        << name;
  }
}

TEST(Expectation, AKindIsReadFromTheNameWhereResourcesAreNotTold) {
  Prediction prediction = testing::sample_prediction();
  prediction.resources.clear();
  const auto holds = [&](const char* name) {
    return unmet_expectations({{ExpectedQuantity::kLimitedBy, Relation::kEqual, 0, name}},
                              prediction)
        .empty();
  };
  EXPECT_TRUE(holds("nic"));
  EXPECT_FALSE(holds("node"));
  prediction.rows[0].limited_by = "latency";
  EXPECT_TRUE(holds("latency"));
}

TEST(Expectation, EveryRowHasToMeetIt) {
  Prediction prediction = testing::sample_prediction();
  prediction.rows.push_back(prediction.rows[0]);
  EXPECT_THAT(
      unmet_expectations({{ExpectedQuantity::kBusbw, Relation::kMore, 400e9, ""}}, prediction),
      SizeIs(2));
}

}  // namespace
}  // namespace gradhaul

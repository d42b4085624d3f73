#include "scenarios/did_you_mean.h"

#include <gtest/gtest.h>

namespace gradhaul {
namespace {

TEST(EditDistance, CountsInHalves) {
  EXPECT_EQ(edit_distance_in_halves("", ""), 0);
  EXPECT_EQ(edit_distance_in_halves("ring", "ring"), 0);
  EXPECT_EQ(edit_distance_in_halves("ring", "rin"), 2);
  EXPECT_EQ(edit_distance_in_halves("ring", "rnig"), 2);  // a swap of neighbours
  EXPECT_EQ(edit_distance_in_halves("KB", "kB"), 1);      // a letter's case
  EXPECT_EQ(edit_distance_in_halves("", "abc"), 6);
  EXPECT_EQ(edit_distance_in_halves("kitten", "sitting"), 6);
}

TEST(Nearest, OffersOnlyWhatIsNear) {
  const std::vector<std::string> known{"workload", "communication", "cluster", "simulation"};
  EXPECT_EQ(nearest("comunication", known), "communication");
  EXPECT_EQ(nearest("worklaod", known), "workload");
  EXPECT_EQ(nearest("clusters", known), "cluster");
  EXPECT_EQ(nearest("weather", known), "");
  EXPECT_EQ(nearest("x", known), "");
  EXPECT_EQ(nearest("", known), "");
  EXPECT_EQ(nearest(std::string(100000, 'a'), known), "");
}

TEST(DidYouMean, IsAClause) {
  EXPECT_EQ(did_you_mean("rnig", {"ring", "tree"}), " (did you mean \"ring\"?)");
  EXPECT_EQ(did_you_mean("star", {"ring", "mesh"}), "");
}

TEST(JoinOr, ReadsAsASentence) {
  EXPECT_EQ(join_or({}), "");
  EXPECT_EQ(join_or({"a"}), "a");
  EXPECT_EQ(join_or({"a", "b"}), "a or b");
  EXPECT_EQ(join_or({"a", "b", "c"}), "a, b or c");
}

}  // namespace
}  // namespace gradhaul

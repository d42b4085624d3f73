#include "scenarios/rendezvous_token.h"

#include <gmock/gmock.h>

#include "backends/bootstrap/exchange_records.h"
#include "scenarios/config_error.h"

namespace gradhaul {
namespace {

LaunchedRank launched() {
  LaunchedRank rank{"srun", 0, 2, false, "77.0"};
  rank.token = "srun 77.0";
  return rank;
}

TEST(RendezvousToken, IsTheLaunchersWhereNobodyGivesOne) {
  EXPECT_EQ(rendezvous_token({}, std::nullopt), "");
  EXPECT_EQ(rendezvous_token({}, launched()), "srun 77.0");
}

TEST(RendezvousToken, IsWhatIsGivenBeforeAll) {
  EXPECT_EQ(rendezvous_token({"", "of the environment"}, launched()), "of the environment");
  EXPECT_EQ(rendezvous_token({"given", "of the environment"}, launched()), "given");
}

// The children of a measure have its command line, and from it another token.
TEST(RendezvousToken, OfChildrenIsWhatTheyInherit) {
  EXPECT_EQ(rendezvous_token({"given", "drawn"}, std::nullopt, true), "drawn");
}

TEST(RendezvousToken, HasToFitAGreeting) {
  EXPECT_EQ(kMostOfToken, kLongestToken);
  EXPECT_EQ(rendezvous_token({std::string(128, 'x')}, std::nullopt), std::string(128, 'x'));
  EXPECT_THROW(rendezvous_token({std::string(129, 'x')}, std::nullopt), ConfigError);
  LaunchedRank long_named = launched();
  long_named.token = std::string(300, 'j');
  EXPECT_EQ(rendezvous_token({}, long_named), std::string(128, 'j'));
}

TEST(RendezvousToken, IsDrawnAnewForEachRun) {
  const std::string first = drawn_token();
  EXPECT_THAT(first, testing::MatchesRegex("[0-9a-f]{32}"));
  EXPECT_NE(first, drawn_token());
}

}  // namespace
}  // namespace gradhaul

#include "sim/cause_chain.h"

#include <gtest/gtest.h>

namespace gradhaul {
namespace {

// What moves nothing leaves no chain behind, and makes none.
TEST(CauseChain, IsMadeWhenItIsAskedFor) {
  Blame blame;
  const ChainId past = blame.start();
  {
    CauseChain cause(blame, past, 70);
    EXPECT_EQ(blame.live(), 1U);
  }
  EXPECT_EQ(blame.live(), 1U);
  ChainId kept = -1;
  {
    CauseChain cause(blame, past, 70);
    kept = cause.chain();
    EXPECT_EQ(cause.chain(), kept) << "made once";
    blame.hold(kept);
  }
  blame.let_go(past);
  ASSERT_EQ(blame.parts(kept).size(), 1U);
  EXPECT_EQ(blame.parts(kept)[0].resource, kNoResource);
  EXPECT_EQ(blame.parts(kept)[0].cause, Cause::kLatency);
  EXPECT_EQ(blame.total(kept), 70);
  blame.let_go(kept);
  EXPECT_EQ(blame.live(), 0U);
}

TEST(CauseChain, LeavesThatOfTheCallerToIt) {
  Blame blame;
  const ChainId chain = blame.start();
  {
    CauseChain cause(blame, chain);
    EXPECT_EQ(cause.chain(), chain);
  }
  EXPECT_EQ(blame.live(), 1U);
  blame.let_go(chain);
}

}  // namespace
}  // namespace gradhaul

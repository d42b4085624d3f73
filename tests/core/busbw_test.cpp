#include "core/busbw.h"

#include <gtest/gtest.h>

namespace gradhaul {
namespace {

using namespace literals;

TEST(Busbw, FactorsAreThoseOfNcclTests) {
  EXPECT_DOUBLE_EQ(busbw_factor(Collective::kAllReduce, 32), 2 * 31.0 / 32);
  EXPECT_DOUBLE_EQ(busbw_factor(Collective::kReduceScatter, 8), 7.0 / 8);
  EXPECT_DOUBLE_EQ(busbw_factor(Collective::kAllGather, 8), 7.0 / 8);
  EXPECT_DOUBLE_EQ(busbw_factor(Collective::kAllToAll, 8), 7.0 / 8);
  EXPECT_DOUBLE_EQ(busbw_factor(Collective::kBroadcast, 8), 1);
  EXPECT_DOUBLE_EQ(busbw_factor(Collective::kSendRecv, 8), 1);
}

TEST(Busbw, IsSizeOverTimeTimesTheFactor) {
  EXPECT_DOUBLE_EQ(algbw(1000_B, 1_us), 1e9);
  EXPECT_DOUBLE_EQ(busbw(Collective::kAllReduce, 2, 1000_B, 1_us), 1e9);
  EXPECT_DOUBLE_EQ(busbw(Collective::kAllReduce, 4, 1000_B, 1_us), 1.5e9);
  EXPECT_DOUBLE_EQ(algbw(1000_B, 0_ps), 0);
}

}  // namespace
}  // namespace gradhaul

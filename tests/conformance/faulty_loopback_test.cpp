// Negative controls: for each way to break the contract, the traffic of the suite reports the point
// that was broken.

#include "tests/conformance/faulty_loopback.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/conformance/collective_runs.h"
#include "tests/conformance/contract_traffic.h"

namespace gradhaul::conformance {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

TrafficPlan small_traffic() {
  return {.connections = {{0, 0, 1, 0}, {0, 1, 0, 0}},
          .slots = 12,
          .writes = 40,
          .lengths = {8, 2, 6, 4},
          .slots_per_credit = 3};
}

// With every seed, a breach of `point` is reported.
void expect_caught(const FaultPlan& fault, const TrafficPlan& plan, int point) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    ContractTraffic traffic(FaultyLoopback(fault), plan, seed);
    ASSERT_TRUE(plan.failing_write < 0 || traffic.can_fail());
    EXPECT_THAT(traffic.run(), Contains(StartsWith(std::to_string(point) + ":")))
        << "seed " << seed << ", kind " << static_cast<int>(fault.kind);
  }
}

TEST(FaultyLoopback, WithoutAFaultNothingIsReported) {
  TrafficPlan plan = small_traffic();
  for (const std::int64_t failing : {-1, 3}) {
    plan.failing_write = failing;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      ContractTraffic traffic(FaultyLoopback({}), plan, seed);
      ASSERT_TRUE(failing < 0 || traffic.can_fail());
      EXPECT_THAT(traffic.run(), IsEmpty());
    }
  }
}

TEST(FaultyLoopback, ACompletionFromInsideAPostOrFlushIsCaught) {
  TrafficPlan plan = small_traffic();
  for (const bool from_deliveries : {false, true}) {
    plan.posts_from_deliveries = from_deliveries;
    expect_caught({.fault = Fault::kDeliversFromPost}, plan, 1);
    expect_caught({.fault = Fault::kDeliversFromFlush}, plan, 1);
  }
}

TEST(FaultyLoopback, ALostCompletionIsCaught) {
  for (const CompletionKind kind : {CompletionKind::kWriteDone, CompletionKind::kWriteArrived,
                                    CompletionKind::kCreditDone, CompletionKind::kCreditArrived}) {
    expect_caught({.fault = Fault::kLoses, .kind = kind}, small_traffic(), 2);
  }
}

TEST(FaultyLoopback, ADoubledCompletionIsCaught) {
  for (const CompletionKind kind : {CompletionKind::kWriteDone, CompletionKind::kWriteArrived,
                                    CompletionKind::kCreditDone, CompletionKind::kCreditArrived}) {
    expect_caught({.fault = Fault::kDoubles, .kind = kind}, small_traffic(), 2);
  }
}

// The order of kCreditDone is nothing that can be seen: they are all alike.
TEST(FaultyLoopback, TwoCompletionsExchangedAreCaught) {
  for (const CompletionKind kind : {CompletionKind::kWriteDone, CompletionKind::kWriteArrived,
                                    CompletionKind::kCreditArrived}) {
    expect_caught({.fault = Fault::kSwaps, .kind = kind}, small_traffic(), 3);
  }
}

TEST(FaultyLoopback, BytesThatComeAfterTheirArrivalAreCaught) {
  expect_caught({.fault = Fault::kShowsBytesLate}, small_traffic(), 4);
}

TEST(FaultyLoopback, ASourceReadAfterItsWriteIsDoneIsCaught) {
  expect_caught({.fault = Fault::kReadsSourceAfterDone}, small_traffic(), 5);
}

TEST(FaultyLoopback, WrongFailuresAreCaught) {
  TrafficPlan plan = small_traffic();
  expect_caught({.fault = Fault::kInventsFailure}, plan, 7);
  plan.failing_write = 3;
  expect_caught({.fault = Fault::kHidesFailure}, plan, 7);
  expect_caught({.fault = Fault::kSucceedsAfterFailure}, plan, 7);
}

// Collectives notice, too: a lost completion leaves somebody waiting, where slots are scarce. Early
// reports of kWriteDone do them no harm: what overwrites a source has been all the way round, and
// so has been caused by the arrival.
TEST(FaultyLoopback, CollectivesNoticeALostCompletion) {
  const CollectiveCase ring{.ranks = 3, .count = 48, .slots = 1, .slot_size = {16}, .seed = 3};
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_THAT(run_collective(FaultyLoopback({}), ring, seed), IsEmpty());
    for (const CompletionKind kind :
         {CompletionKind::kWriteDone, CompletionKind::kWriteArrived, CompletionKind::kCreditDone,
          CompletionKind::kCreditArrived, CompletionKind::kReduceDone}) {
      const FaultyLoopback loses({.fault = Fault::kLoses, .kind = kind});
      EXPECT_THAT(run_collective(loses, ring, seed), Not(IsEmpty())) << static_cast<int>(kind);
    }
  }
}

}  // namespace
}  // namespace gradhaul::conformance

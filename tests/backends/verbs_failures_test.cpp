// What follows where verbs fail: which completions, and what is said of them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/fake_verbs/joined_ranks.h"

namespace gradhaul {
namespace {

using fake::JoinedRanks;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

std::string what(JoinedRanks& ranks, Rank rank) {
  const auto failure = ranks.endpoint(rank).failure();
  return failure ? failure->what : "";
}

// The second write of rank 0 fails with this status.
void fail_second_write(JoinedRanks& ranks, ibv_wc_status status) {
  ranks.fabric.verdict = [&ranks, status](const fake::FakeQp& qp, const fake::FakeSend& send) {
    const VerbsConnection& sender = ranks.endpoint(0).connection(JoinedRanks::kOutgoing);
    const bool hit = &qp == sender.queue_pair(1) && fake::immediate_of(send) == 1;
    return hit ? status : IBV_WC_SUCCESS;
  };
  for (int slot = 0; slot < 4; ++slot) ranks.write(0, slot);
  ranks.endpoint(0).flush();
  ranks.settle();
}

JoinedRanks two_queue_pairs() {
  VerbsSettings settings = JoinedRanks::no_deadline();
  settings.queue_pairs = 2;
  return JoinedRanks(3, settings);
}

TEST(VerbsFailures, AllThatWasPostedComesBackAndTheCauseIsNamed) {
  struct Expected {
    ibv_wc_status status;
    const char* name;
    const char* check;
  };
  for (const Expected& expected : std::vector<Expected>{
           {IBV_WC_RETRY_EXC_ERR,
            "\"transport retry counter exceeded\" (status 12, vendor error "
            "129)",
            "whether the peer's process still runs"},
           {IBV_WC_REM_ACCESS_ERR, "\"remote access error\" (status 10,", "rkey"},
           {IBV_WC_REM_INV_REQ_ERR, "\"remote invalid request error\" (status 9,", "slot_size"},
           {IBV_WC_LOC_PROT_ERR, "\"local protection error\" (status 4,", "freed or remapped"},
           {IBV_WC_RNR_RETRY_EXC_ERR, "\"RNR retry counter exceeded\" (status 13,", "slots"}}) {
    JoinedRanks ranks = two_queue_pairs();
    ASSERT_THAT(ranks.join(), Each(IsEmpty()));
    fail_second_write(ranks, expected.status);
    const auto done = ranks.seen(0).of(CompletionKind::kWriteDone);
    ASSERT_THAT(done, SizeIs(4));
    EXPECT_EQ(done[3].status, CompletionStatus::kFlushed);
    ASSERT_TRUE(ranks.endpoint(0).failure());
    EXPECT_EQ(ranks.endpoint(0).failure()->rank, 0);
    EXPECT_EQ(ranks.endpoint(0).failure()->peer, 1);
    EXPECT_THAT(what(ranks, 0), AllOf(HasSubstr(expected.name), HasSubstr(expected.check),
                                      HasSubstr("channel 0 to rank 1"), HasSubstr("10.0.0.2")));
    EXPECT_THAT(ranks.fabric.mistakes, IsEmpty());
  }
}

// The first failure is told as such, what follows as flushed, and nothing succeeds after it.
TEST(VerbsFailures, OneFailureThenFlushes) {
  JoinedRanks ranks = two_queue_pairs();
  ASSERT_THAT(ranks.join(), Each(IsEmpty()));
  fail_second_write(ranks, IBV_WC_RETRY_EXC_ERR);
  std::vector<CompletionStatus> statuses;
  for (const Completion& completion : ranks.seen(0).all) {
    if (completion.id == JoinedRanks::kOutgoing) statuses.push_back(completion.status);
  }
  const auto first = std::ranges::find(statuses, CompletionStatus::kFailed);
  ASSERT_NE(first, statuses.end());
  EXPECT_THAT(std::vector(statuses.begin(), first), Each(CompletionStatus::kOk));
  EXPECT_THAT(std::vector(first + 1, statuses.end()), Each(CompletionStatus::kFlushed));
  ranks.write(0, 0);  // comes back, too
  ranks.endpoint(0).flush();
  ranks.settle();
  EXPECT_THAT(ranks.seen(0).of(CompletionKind::kWriteDone), SizeIs(5));
  EXPECT_EQ(ranks.seen(0).all.back().status, CompletionStatus::kFlushed);
}

// The rank whose memory was refused hears of it by an event and by flushed receives: the event is
// the cause, the flush is none.
TEST(VerbsFailures, TheRefusingRankNamesTheEventAndNotTheFlush) {
  JoinedRanks ranks = two_queue_pairs();
  ASSERT_THAT(ranks.join(), Each(IsEmpty()));
  fail_second_write(ranks, IBV_WC_REM_ACCESS_ERR);
  ASSERT_TRUE(ranks.endpoint(1).failure());
  EXPECT_EQ(ranks.endpoint(1).failure()->peer, 0);
  EXPECT_THAT(what(ranks, 1), AllOf(HasSubstr("local access violation work queue error"),
                                    HasSubstr("channel 0 from rank 0"), Not(HasSubstr("Flushed"))));
  EXPECT_EQ(ranks.seen(1).all.back().status, CompletionStatus::kFailed);
  EXPECT_FALSE(ranks.endpoint(2).failure());
}

TEST(VerbsFailures, APeerThatIsGoneIsNotAcknowledging) {
  JoinedRanks ranks(3);
  ASSERT_THAT(ranks.join(), Each(IsEmpty()));
  ranks.leave(1);
  ranks.write(0, 0);
  ranks.endpoint(0).flush();
  ranks.settle();
  EXPECT_THAT(what(ranks, 0), AllOf(HasSubstr("transport retry counter exceeded"),
                                    HasSubstr("(retry 7, timeout 20)"),
                                    HasSubstr("0 of 1 writes and 0 bytes acknowledged")));
}

TEST(VerbsFailures, AFailedDeviceFailsAllItsConnections) {
  JoinedRanks ranks(2);
  ASSERT_THAT(ranks.join(), Each(IsEmpty()));
  ranks.verbs(0).raise(IBV_EVENT_DEVICE_FATAL);
  for (int polls = 0; polls < 100 && ranks.seen(0).all.empty(); ++polls) {
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
    for (int i = 0; i < 300; ++i) ranks.endpoint(0).poll(ranks.seen(0));
  }
  ASSERT_THAT(ranks.seen(0).all, SizeIs(2));
  EXPECT_THAT(what(ranks, 0), HasSubstr("\"local catastrophic error\" (8) of fake0 port 1"));
}

TEST(VerbsFailures, WhatBefellThePortIsToldWithTheFailureThatFollows) {
  JoinedRanks ranks = two_queue_pairs();
  ASSERT_THAT(ranks.join(), Each(IsEmpty()));
  ranks.verbs(0).raise(IBV_EVENT_PORT_ERR);
  fail_second_write(ranks, IBV_WC_RETRY_EXC_ERR);
  EXPECT_THAT(what(ranks, 0), HasSubstr("seen before: asynchronous event \"port error\" (10) of "
                                        "fake0 port 1: the link went down"));
}

TEST(VerbsFailures, AWriteThatIsNeverAcknowledgedIsOverdue) {
  VerbsSettings settings;
  settings.deadline = std::chrono::milliseconds{30};
  JoinedRanks ranks(2, settings);
  ASSERT_THAT(ranks.join(), Each(IsEmpty()));
  ranks.write(0, 0);
  ranks.endpoint(0).flush();
  while (ranks.seen(0).all.empty()) ranks.endpoint(0).poll(ranks.seen(0));
  EXPECT_EQ(ranks.seen(0).all.front().status, CompletionStatus::kFailed);
  EXPECT_THAT(what(ranks, 0), HasSubstr("nothing was acknowledged for 30 ms"));
}

TEST(VerbsFailures, AnEndpointThatWaitsForNothingIsNeverOverdue) {
  VerbsSettings settings;
  settings.deadline = std::chrono::milliseconds{1};
  JoinedRanks ranks(2, settings);
  ASSERT_THAT(ranks.join(), Each(IsEmpty()));
  for (int i = 0; i < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds{15});
    for (int polls = 0; polls < 300; ++polls) ranks.endpoint(0).poll(ranks.seen(0));
  }
  EXPECT_FALSE(ranks.endpoint(0).failure());
}

}  // namespace
}  // namespace gradhaul

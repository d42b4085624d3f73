// How ranks are joined, and what all of them hear where one can't go on.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "tests/fake_verbs/joined_ranks.h"

namespace gradhaul {
namespace {

using fake::JoinedRanks;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

std::string fact(const VerbsEndpoint& endpoint, const std::string& name) {
  for (const auto& [key, value] : endpoint.facts()) {
    if (key == name) return value;
  }
  return "";
}

TEST(VerbsJoining, UsesTheSmallerMtuOfBothEnds) {
  JoinedRanks ranks(2);
  ranks.plans[1].devices[0].ports[0].active_mtu = IBV_MTU_1024;
  ASSERT_THAT(ranks.join(), Each(IsEmpty()));
  for (const Rank rank : {0, 1}) {
    EXPECT_EQ(ranks.endpoint(rank).connection(0).queue_pair(0)->state, IBV_QPS_RTS);
    EXPECT_EQ(fact(ranks.endpoint(rank), "mtu"), "1024");
  }
  EXPECT_THAT(fact(ranks.endpoint(0), "gid"), HasSubstr("RoCE v2, 10.0.0.1"));
}

TEST(VerbsJoining, CapsTheMtuWhereItIsAskedTo) {
  JoinedRanks ranks(2);
  for (auto& plan : ranks.plans) plan.settings.mtu = {2048};
  ASSERT_THAT(ranks.join(), Each(IsEmpty()));
  EXPECT_EQ(fact(ranks.endpoint(0), "mtu"), "2048");
}

TEST(VerbsJoining, NamesTheFirstSettingThatDiffers) {
  JoinedRanks ranks(3);
  ranks.plans[2].slot_size = {512};
  EXPECT_THAT(ranks.join(), Each(HasSubstr("rank 2: slot_size is 512, that of rank 0 1024")));
  JoinedRanks others(3);
  others.plans[1].settings.queue_pairs = 4;
  EXPECT_THAT(others.join(), Each(HasSubstr("rank 1: queue_pairs is 4, that of rank 0 1")));
}

TEST(VerbsJoining, RefusesPortsThatCanNotSpeakToEachOther) {
  JoinedRanks versions(2);
  versions.plans[1].devices[0].ports[0].gids[0].type = IBV_GID_TYPE_ROCE_V1;
  EXPECT_THAT(versions.join(),
              Each(AllOf(StartsWith("rank 0: to rank 1: "), HasSubstr("uses GID 0, RoCE v2"),
                         HasSubstr("RoCE v1: choose gid_index so that both are alike"))));
  JoinedRanks families(2);
  families.plans[1].devices[0].ports[0].gids[0].gid = fake::ipv6_gid(0xfd, 0, 9);
  EXPECT_THAT(families.join(), Each(HasSubstr("both are IPv4 or both are IPv6")));
  JoinedRanks layers(2);
  layers.plans[1].devices[0].ports[0].link_layer = IBV_LINK_LAYER_INFINIBAND;
  EXPECT_THAT(layers.join(), Each(HasSubstr("is on Ethernet, the peer's fake0 port 1 on Infini")));
  JoinedRanks partitions(2);
  partitions.plans[1].devices[0].ports[0].pkeys = {0x8001};
  EXPECT_THAT(partitions.join(), Each(HasSubstr("in different partitions")));
  // Limited members of a partition may not speak to each other, only to full ones.
  JoinedRanks limited(2);
  for (auto& plan : limited.plans) plan.devices[0].ports[0].pkeys = {0x0001};
  EXPECT_THAT(limited.join(), Each(HasSubstr("are both limited members of their partition")));
  limited.plans[1].devices[0].ports[0].pkeys = {0x8001};
  JoinedRanks full(2);
  full.plans = limited.plans;
  EXPECT_THAT(full.join(), Each(IsEmpty()));
}

TEST(VerbsJoining, AllHearOfAnAddressThatOneCanNotResolve) {
  JoinedRanks ranks(3);
  ranks.fabric.unreachable = {"10.0.0.2"};
  EXPECT_THAT(ranks.join(), Each(AllOf(StartsWith("rank 0: to rank 1: queue pair "),
                                       HasSubstr("refuses INIT -> RTR: Connection timed out (110)"),
                                       HasSubstr("dgid 10.0.0.2"), HasSubstr("ip route get"))));
  EXPECT_EQ(ranks.fabric.live_objects, 3 * 2);  // contexts and domains of three rails
}

TEST(VerbsJoining, SaysWhichStateIsRefusedAndWhatWasSet) {
  JoinedRanks init(2);
  init.make_libraries();
  init.verbs(1).refuse(IBV_QPS_INIT, EINVAL);
  EXPECT_THAT(init.join(), Each(AllOf(StartsWith("rank 1: queue pair "),
                                      HasSubstr("refuses RESET -> INIT: Invalid argument (22)"),
                                      HasSubstr("pkey_index 0, port 1"))));
  JoinedRanks send(2);
  send.make_libraries();
  send.verbs(1).refuse(IBV_QPS_RTS, EINVAL);
  EXPECT_THAT(send.join(), Each(AllOf(StartsWith("rank 1: to rank 0: queue pair "),
                                      HasSubstr("refuses RTR -> RTS"),
                                      HasSubstr("timeout 20, retry_cnt 7, rnr_retry 3"))));
}

// 4 slots and 64 parts leave 31 - 4 - 6 bits of an immediate for the length.
TEST(VerbsJoining, RefusesSlotsThatAnImmediateCanNotTellOf) {
  for (const std::int64_t size : {(1 << 21) - 1, 1 << 21}) {
    VerbsSettings settings = JoinedRanks::no_deadline();
    settings.immediate_apart = true;
    settings.split_writes = true;
    settings.queue_pairs = 64;
    JoinedRanks ranks(2, settings);
    for (auto& plan : ranks.plans) plan.slot_size = {size};
    const bool fits = size < 1 << 21;
    EXPECT_THAT(ranks.join(), Each(fits ? testing::Matcher<std::string>(IsEmpty())
                                        : HasSubstr("an immediate tells of at most 2097151")));
  }
}

TEST(VerbsJoining, RefusesSlotsOverTheLongestMessage) {
  JoinedRanks ranks(2);
  ranks.plans[0].devices[0].ports[0].max_message = 512;
  EXPECT_THAT(ranks.join(),
              Each(HasSubstr("rank 0: slot_size is 1024 bytes, and fake0 port 1 sends "
                             "messages of at most 512")));
}

// NIC i is the i-th port, counted around.
TEST(VerbsJoining, EachConnectionGoesByItsNic) {
  JoinedRanks ranks(2);
  for (int rank = 0; rank < 2; ++rank) {
    auto& plan = ranks.plans[static_cast<std::size_t>(rank)];
    auto second = fake::roce_host(rank + 10);
    second.name = "fake1";
    second.pci_path = "/pci/1";
    plan.devices.push_back(second);
    plan.nics = {rank == 0 ? 1 : 0, 3};  // out by NIC 1 from rank 0, by NIC 0 from rank 1
  }
  ASSERT_THAT(ranks.join(), Each(IsEmpty()));
  EXPECT_EQ(ranks.endpoint(0).path(JoinedRanks::kOutgoing),
            "fake1 port 1 (10.0.0.11) to fake1 port 1 (10.0.0.12), MTU 4096");
  EXPECT_EQ(ranks.endpoint(1).path(JoinedRanks::kOutgoing),
            "fake0 port 1 (10.0.0.2) to fake1 port 1 (10.0.0.11), MTU 4096");
  ranks.write(0, 0);
  ranks.write(1, 0);
  for (const Rank rank : {0, 1}) ranks.endpoint(rank).flush();
  ranks.settle();
  EXPECT_THAT(ranks.seen(0).of(CompletionKind::kWriteArrived), SizeIs(1));
  EXPECT_THAT(ranks.seen(1).of(CompletionKind::kWriteArrived), SizeIs(1));
}

TEST(VerbsJoining, GoesWithoutRelaxedOrderingAndInlineWhereTheDeviceHasNone) {
  JoinedRanks ranks(2);
  ranks.plans[0].devices[0].takes_relaxed_ordering = false;
  ranks.plans[0].devices[0].max_inline = 0;
  ASSERT_THAT(ranks.join(), Each(IsEmpty()));
  EXPECT_EQ(fact(ranks.endpoint(0), "relaxed_ordering"), "off");
  EXPECT_EQ(fact(ranks.endpoint(1), "relaxed_ordering"), "asked for");
}

TEST(VerbsJoining, MakesMoreCompletionQueuesWhereOneIsTooSmall) {
  JoinedRanks ranks(2);
  for (auto& plan : ranks.plans) {
    plan.devices[0].max_cqe = 140;  // of one queue pair: 128 sends, 4 receives
    plan.settings.queue_pairs = 3;
  }
  ASSERT_THAT(ranks.join(), Each(IsEmpty()));
  for (int write = 0; write < 4; ++write) ranks.write(0, write);
  ranks.endpoint(0).flush();
  ranks.settle();
  EXPECT_THAT(ranks.seen(1).of(CompletionKind::kWriteArrived), SizeIs(4));
  EXPECT_THAT(ranks.fabric.mistakes, IsEmpty());
}

}  // namespace
}  // namespace gradhaul

// What goes between ranks, and what is read from the system: records, tables, counters.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "backends/verbs/async_events.h"
#include "backends/verbs/completion_table.h"
#include "backends/verbs/connection_record.h"
#include "backends/verbs/immediate_format.h"
#include "backends/verbs/port_counters.h"
#include "backends/verbs/verbs_error.h"
#include "backends/verbs/write_windows.h"

namespace gradhaul {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

ConnectionRecord sample() {
  ConnectionRecord record;
  record.slots = 8;
  record.slot_size = 524288;
  record.queue_pairs = 2;
  record.split_writes = true;
  record.immediate_apart = true;
  RailRecord rail;
  rail.device = "mlx5_0";
  rail.active_mtu = 5;
  rail.lid = 0x1234;
  rail.gid = {0xfe, 0x80};
  record.rails = {rail};
  record.ends = {{.key = {1, 2, 3, 4},
                  .sends = true,
                  .rail = 0,
                  .slots_address = 0x123456789abcdef0,
                  .slots_key = 77,
                  .queue_pairs = {{17, 0xabcdef}, {18, 1}}}};
  return record;
}

TEST(ConnectionRecord, ComesBackAsItWent) {
  const ConnectionRecord back = decode(encode(sample()));
  EXPECT_EQ(back.slot_size, 524288U);
  EXPECT_TRUE(back.split_writes);
  EXPECT_TRUE(back.immediate_apart);
  ASSERT_EQ(back.rails.size(), 1U);
  EXPECT_EQ(back.rails[0].device, "mlx5_0");
  EXPECT_EQ(back.rails[0].lid, 0x1234);
  EXPECT_EQ(back.rails[0].gid, sample().rails[0].gid);
  ASSERT_EQ(back.ends.size(), 1U);
  EXPECT_EQ(back.ends[0].key, (ConnectionKey{1, 2, 3, 4}));
  EXPECT_EQ(back.ends[0].slots_address, 0x123456789abcdef0U);
  ASSERT_EQ(back.ends[0].queue_pairs.size(), 2U);
  EXPECT_EQ(back.ends[0].queue_pairs[0].packet_number, 0xabcdefU);
}

// Magic and version in big-endian order, whatever this machine's.
TEST(ConnectionRecord, HasOneOrderOfBytes) {
  const std::vector<std::byte> bytes = encode({});
  const std::vector<std::byte> start(bytes.begin(), bytes.begin() + 8);
  EXPECT_THAT(start, ElementsAre(std::byte{'G'}, std::byte{'H'}, std::byte{'V'}, std::byte{'B'},
                                 std::byte{0}, std::byte{0}, std::byte{0}, std::byte{2}));
}

TEST(ConnectionRecord, WhatIsCutOffOrTooLongIsRefused) {
  std::vector<std::byte> bytes = encode(sample());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_THROW(decode(std::span(bytes).first(length)), VerbsError) << length;
  }
  bytes.push_back(std::byte{0});
  EXPECT_THROW(decode(bytes), VerbsError);
}

// Counts that promise more than the bytes hold must not be believed: nothing is allocated for them.
TEST(ConnectionRecord, NoByteCanDoHarm) {
  const std::vector<std::byte> good = encode(sample());
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const int value : {0, 1, 0x7f, 0x80, 0xff}) {
      std::vector<std::byte> bytes = good;
      bytes[at] = static_cast<std::byte>(value);
      try {
        const ConnectionRecord record = decode(bytes);
        EXPECT_LE(record.ends.size(), bytes.size());
      } catch (const VerbsError&) {
      }
    }
  }
}

TEST(CompletionTable, KnowsEachStatusOfReliableConnectionsOnce) {
  for (const ibv_wc_status status :
       {IBV_WC_LOC_LEN_ERR, IBV_WC_LOC_QP_OP_ERR, IBV_WC_LOC_PROT_ERR, IBV_WC_WR_FLUSH_ERR,
        IBV_WC_BAD_RESP_ERR, IBV_WC_LOC_ACCESS_ERR, IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_ACCESS_ERR,
        IBV_WC_REM_OP_ERR, IBV_WC_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_REM_ABORT_ERR,
        IBV_WC_FATAL_ERR, IBV_WC_GENERAL_ERR}) {
    const CompletionMeaning meaning = meaning_of(status);
    EXPECT_EQ(meaning.status, status);
    EXPECT_NE(meaning.name, "unexpected status");
    EXPECT_FALSE(meaning.checks.empty());
  }
  EXPECT_EQ(meaning_of(IBV_WC_MW_BIND_ERR).name, "unexpected status");
}

TEST(AsyncEvents, KnowWhomTheyConcern) {
  EXPECT_EQ(meaning_of(IBV_EVENT_QP_FATAL).concerns, EventConcerns::kQueuePair);
  EXPECT_EQ(meaning_of(IBV_EVENT_DEVICE_FATAL).concerns, EventConcerns::kDevice);
  EXPECT_EQ(meaning_of(IBV_EVENT_PORT_ERR).concerns, EventConcerns::kPort);
  EXPECT_EQ(meaning_of(IBV_EVENT_COMM_EST).concerns, EventConcerns::kNobody);
}

TEST(PortCounters, ReadsWhatTheKernelKeeps) {
  namespace fs = std::filesystem;
  const fs::path root = fs::temp_directory_path() / "gradhaul_port_counters_test";
  const fs::path port = root / "rxe0/ports/1";
  fs::create_directories(port / "hw_counters");
  fs::create_directories(port / "counters");
  std::ofstream(port / "hw_counters/duplicate_request") << "12\n";
  std::ofstream(port / "hw_counters/lifespan") << "10\n";
  std::ofstream(port / "counters/port_xmit_wait") << "3\n";
  std::ofstream(port / "counters/unreadable") << "N/A\n";
  EXPECT_THAT(port_counters(root, "rxe0", 1),
              ElementsAre(Pair("rxe0:1/duplicate_request", 12), Pair("rxe0:1/port_xmit_wait", 3)));
  EXPECT_THAT(port_counters(root, "rxe1", 1), IsEmpty());
  fs::remove_all(root);
}

constexpr std::uint32_t kMask = 0xffffff;

TEST(ArrivingWrites, DeliversInOrderAcrossTheWrapOfNumbers) {
  ArrivingWrites writes(2, kMask);
  const std::int64_t wrap = kMask;
  for (std::int64_t i = 0; i <= wrap; ++i) {
    ASSERT_TRUE(writes.part_arrived(static_cast<std::uint32_t>(i), 1, 8));
    ASSERT_EQ(writes.pop(), 8);
  }
  EXPECT_TRUE(writes.part_arrived(1, 1, 5));  // the one after the next
  EXPECT_FALSE(writes.ready());
  EXPECT_TRUE(writes.part_arrived(0, 2, 3));
  EXPECT_FALSE(writes.ready());
  EXPECT_TRUE(writes.part_arrived(0, 2, 4));
  ASSERT_TRUE(writes.ready());
  EXPECT_EQ(writes.pop(), 7);
  EXPECT_EQ(writes.pop(), 5);
}

TEST(ArrivingWrites, RefusesWhatCanNotBeOnItsWay) {
  ArrivingWrites writes(2, kMask);
  EXPECT_FALSE(writes.part_arrived(2, 1, 8));  // two slots: 0 and 1
  EXPECT_FALSE(writes.part_arrived(kMask, 1, 8));
  EXPECT_TRUE(writes.part_arrived(0, 1, 8));
  EXPECT_FALSE(writes.part_arrived(0, 1, 8));  // twice
  EXPECT_TRUE(writes.part_arrived(1, 2, 8));
  EXPECT_FALSE(writes.part_arrived(1, 3, 8));  // of another number of parts
}

TEST(ImmediateFormat, SaysTheSameBothWays) {
  const ImmediateFormat usual;
  EXPECT_FALSE(usual.tells_length());
  const ImmediateFormat::Data whole = usual.data_of(usual.data({0x1abcdef, 64, 0}));
  EXPECT_EQ(whole.number, 0xabcdefU);  // modulo 2^24
  EXPECT_EQ(whole.parts, 64U);
  // 8 slots take 5 bits, 4 parts 2: 24 are left for the length.
  const ImmediateFormat apart = ImmediateFormat::apart(8, 4);
  EXPECT_TRUE(apart.tells_length());
  EXPECT_EQ(apart.longest().count, (1 << 24) - 1);
  const ImmediateFormat::Data part = apart.data_of(apart.data({33, 4, (1 << 24) - 1}));
  EXPECT_EQ(part.number, 1U);  // modulo 2^5
  EXPECT_EQ(part.parts, 4U);
  EXPECT_EQ(part.length, (1U << 24) - 1);
  EXPECT_FALSE(ImmediateFormat::is_credit(apart.data({31, 4, (1 << 24) - 1})));
  EXPECT_TRUE(ImmediateFormat::is_credit(ImmediateFormat::credit(8)));
  EXPECT_EQ(ImmediateFormat::slots_of(ImmediateFormat::credit(8)), 8U);
  EXPECT_EQ(ImmediateFormat::apart(1 << 26, 64).longest().count, 0);
}

}  // namespace
}  // namespace gradhaul

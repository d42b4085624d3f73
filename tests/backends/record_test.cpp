// Records of the rendezvous: their bytes, and what is no record.

#include "backends/bootstrap/record.h"

#include <gmock/gmock.h>

#include "backends/bootstrap/exchange_records.h"
#include "tests/damaged_text.h"

namespace gradhaul {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

TEST(Record, HasTheSameBytesOnEveryMachine) {
  // FNV-1a of "ab" in 32 bits is 0x4d2505ca (from its definition, by hand).
  EXPECT_THAT(encoded(RecordKind::kGather, bytes_of({'a', 'b'})),
              ElementsAreArray(bytes_of(
                  {'g', 'r', 'a', 'd', 0, 2, 0, 4, 0, 0, 0, 2, 0x4d, 0x25, 0x05, 0xca, 'a', 'b'})));
}

TEST(Record, ComesOutWholeHoweverItCame) {
  std::vector<std::byte> stream = encoded(RecordKind::kHello, bytes_of({1, 2, 3}));
  const std::vector<std::byte> second = encoded(RecordKind::kGather, {});
  stream.insert(stream.end(), second.begin(), second.end());
  for (const std::size_t piece : {1U, 2U, 7U, 16U, 64U}) {
    RecordReader reader(100);
    std::vector<Record> records;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      reader.feed(std::span(stream).subspan(at, std::min(piece, stream.size() - at)));
      while (auto record = reader.next()) records.push_back(*record);
    }
    ASSERT_EQ(records.size(), 2U) << piece;
    EXPECT_EQ(records[0].kind, RecordKind::kHello);
    EXPECT_EQ(records[0].body, bytes_of({1, 2, 3}));
    EXPECT_EQ(records[1].kind, RecordKind::kGather);
    EXPECT_TRUE(records[1].body.empty());
  }
}

// What happens to a record of three bytes of which one byte has become another.
std::string complaint_with(std::size_t at, int value) {
  std::vector<std::byte> bytes = encoded(RecordKind::kHello, bytes_of({1, 2, 3}));
  bytes[at] = static_cast<std::byte>(value);
  RecordReader reader(100);
  reader.feed(bytes);
  try {
    return reader.next() ? "a record" : "nothing yet";
  } catch (const WireError& error) {
    return error.what();
  }
}

TEST(Record, OfStrangersIsNone) {
  EXPECT_THAT(complaint_with(0, 'G'), HasSubstr("does not speak"));
  EXPECT_THAT(complaint_with(3, 'e'), HasSubstr("does not speak"));
  EXPECT_THAT(complaint_with(5, 1), HasSubstr("version 1 of the rendezvous, this is 2"));
  EXPECT_THAT(complaint_with(7, 0), HasSubstr("no known kind"));
  EXPECT_THAT(complaint_with(7, kLastRecordKind + 1), HasSubstr("no known kind"));
  EXPECT_THAT(complaint_with(8, 1), HasSubstr("too long"));
  EXPECT_THAT(complaint_with(11, 4), HasSubstr("nothing yet"));
  EXPECT_THAT(complaint_with(13, 0), HasSubstr("damaged"));
  EXPECT_THAT(complaint_with(17, 0), HasSubstr("damaged"));
  EXPECT_EQ(complaint_with(18, 3), "a record");
}

TEST(Record, IsRefusedAtItsFirstWrongByte) {
  RecordReader reader(100);
  reader.feed(bytes_of({'G'}));  // "GET / HTTP/1.1"
  EXPECT_THROW(reader.next(), WireError);
}

TEST(Record, OfAnyLengthTakesNoMoreRoomThanWhatCame) {
  // A head that promises four gigabytes.
  std::vector<std::byte> bytes = encoded(RecordKind::kHello, {});
  for (std::size_t i = 8; i < 12; ++i) bytes[i] = std::byte{0xff};
  RecordReader reader(std::size_t{1} << 33);
  reader.feed(bytes);
  EXPECT_EQ(reader.next().has_value(), false);
}

TEST(ExchangeRecords, ReadBackTheSame) {
  const Greeting greeting = greeting_in(body_of(Greeting{3, 70000, "a job\n"}));
  EXPECT_EQ(greeting.rank, 3);
  EXPECT_EQ(greeting.ranks, 70000);
  EXPECT_EQ(greeting.token, "a job\n");
  EXPECT_EQ(number_in(body_of_number(0xfedcba9876543210)), 0xfedcba9876543210U);
  const auto failures = failures_in(body_of({{2, -1, "no memory"}, {0, 2, "gone"}}));
  ASSERT_EQ(failures.size(), 2U);
  EXPECT_EQ(failures[0].peer, -1);
  EXPECT_EQ(failures[1].rank, 0);
  EXPECT_EQ(failures[1].what, "gone");
  const std::vector<std::vector<std::byte>> parts{bytes_of({1}), {}, bytes_of({2, 3})};
  EXPECT_EQ(parts_in(body_of(parts), 3), parts);
}

TEST(ExchangeRecords, OfTheWrongLengthAreRefused) {
  const std::vector<std::byte> failures = body_of({{2, -1, "no memory"}});
  for (std::size_t length = 0; length < failures.size(); ++length) {
    EXPECT_THROW(failures_in(std::span(failures).first(length)), WireError) << length;
  }
  std::vector<std::byte> longer = body_of(Greeting{1, 2});
  longer.push_back({});
  EXPECT_THROW(greeting_in(longer), WireError);
  const std::vector<std::byte> greeting = body_of(Greeting{1, 2, "token"});
  for (std::size_t length = 0; length < greeting.size(); ++length) {
    EXPECT_THROW(greeting_in(std::span(greeting).first(length)), WireError) << length;
  }
  // The longest that is sent fits what a stranger may say.
  EXPECT_LE(body_of(Greeting{1, 2, std::string(kLongestToken, 'x')}).size(), kLongestGreeting);
  EXPECT_THROW(number_in(bytes_of({1, 2, 3})), WireError);
  EXPECT_THROW(parts_in(body_of({bytes_of({1})}), 2), WireError);
  EXPECT_THROW(failures_in(body_of(std::vector<RankFailure>{})), WireError);
}

TEST(ExchangeRecords, TextsOfOthersDoNoHarmToATerminal) {
  const auto failures = failures_in(body_of({{1, 0, "\x1b[2J" + std::string(10'000, 'x')}}));
  EXPECT_EQ(failures.front().what.front(), ' ');
  EXPECT_LT(failures.front().what.size(), 5000U);
}

// Bytes of every kind, from a generator with fixed seeds: what does not end in an error is read
// without harm, which the sanitizers watch.
TEST(Record, AnyBytesAreReadWithoutHarm) {
  for_seeds(20'000, [](std::uint64_t seed) {
    DamageDraws draws(seed);
    const auto random = [&] { return static_cast<std::uint32_t>(draws.below(1U << 31)); };
    std::vector<std::byte> bytes;
    for (std::uint32_t record = random() % 4; record > 0; --record) {
      std::vector<std::byte> body(random() % 64);
      for (std::byte& b : body) b = static_cast<std::byte>(random());
      const auto kind = static_cast<RecordKind>(1 + random() % kLastRecordKind);
      const std::vector<std::byte> encoding = encoded(kind, body);
      bytes.insert(bytes.end(), encoding.begin(), encoding.end());
    }
    for (std::uint32_t change = random() % 3; change > 0 && !bytes.empty(); --change) {
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    }
    RecordReader reader(48);
    try {
      for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t piece = std::min<std::size_t>(1 + random() % 40, bytes.size() - at);
        reader.feed(std::span(bytes).subspan(at, piece));
        at += piece;
        while (const auto record = reader.next()) {
          EXPECT_LE(record->body.size(), 48U);
          static_cast<void>(failures_in(record->body));
        }
      }
    } catch (const WireError&) {
    }
    return !testing::Test::HasFailure();
  });
}

}  // namespace
}  // namespace gradhaul

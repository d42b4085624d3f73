#include "analysis/log_lines.h"

#include <gmock/gmock.h>

#include <sstream>

namespace gradhaul {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

std::vector<std::pair<std::int64_t, std::string>> lines_of(const std::string& text) {
  std::istringstream stream(text);
  LogLines lines(stream);
  std::vector<std::pair<std::int64_t, std::string>> result;
  while (const auto line = lines.next()) result.emplace_back(line->number, line->text);
  return result;
}

TEST(LogLines, EndWithEveryKindOfEnd) {
  EXPECT_THAT(lines_of("a\nb\r\nc"), ElementsAre(Pair(1, "a"), Pair(2, "b"), Pair(3, "c")));
  EXPECT_THAT(lines_of("a\r\n\r\nb\n"), ElementsAre(Pair(1, "a"), Pair(3, "b")));
}

TEST(LogLines, KeepWhatALoneReturnWouldOverwrite) {
  EXPECT_THAT(lines_of("10 %\r20 %\rdone\nnext\n"),
              ElementsAre(Pair(1, "10 %"), Pair(1, "20 %"), Pair(1, "done"), Pair(2, "next")));
}

TEST(LogLines, LoseTheirColours) {
  EXPECT_THAT(lines_of("\x1b[1;32mgood\x1b[0m news\x1b[K\n"), ElementsAre(Pair(1, "good news")));
  EXPECT_THAT(lines_of("\x1b]0;title\x07"
                       "a\x1b]8;;link\x1b\\b\x1b"
                       "7c\n"),
              ElementsAre(Pair(1, "abc")));
  // A sequence that never ends takes its own line only.
  EXPECT_THAT(lines_of("a\x1b[31\nb\n"), ElementsAre(Pair(1, "a"), Pair(2, "b")));
  EXPECT_THAT(lines_of("a\x1b]0;title\nb\n"), ElementsAre(Pair(1, "a"), Pair(2, "b")));
}

TEST(LogLines, LoseMarksAndZeroBytes) {
  std::istringstream rest("");
  LogLines marked(rest,
                  "\xef\xbb\xbf"
                  "a\n");
  EXPECT_EQ(marked.next()->text, "a");
  std::istringstream none("");
  LogLines wide(none, std::string("\xff\xfe"
                                  "a\0b\0\n\0",
                                  8));
  EXPECT_EQ(wide.next()->text, "ab");
}

TEST(LogLines, AreCutWhereTheyAreTooLong) {
  std::istringstream stream(std::string(3 * LogLines::kLongest, 'x') + "\nend\n");
  LogLines lines(stream);
  EXPECT_EQ(lines.next()->text.size(), LogLines::kLongest);
  const auto end = lines.next();
  EXPECT_EQ(end->text, "end");
  EXPECT_EQ(end->number, 2);
}

TEST(LogLines, SayWhetherTheyEnded) {
  std::istringstream stream("a\nb");
  LogLines lines(stream);
  EXPECT_TRUE(lines.next()->ended);
  EXPECT_FALSE(lines.next()->ended);
  EXPECT_FALSE(lines.next());
}

TEST(Words, AndTheirNumbers) {
  EXPECT_THAT(words_of("  a\tb  c "), ElementsAre("a", "b", "c"));
  EXPECT_THAT(words_of("a b c", 2), ElementsAre("a", "b"));
  EXPECT_EQ(number_of("1.5e3"), 1500.0);
  for (const char* word : {"", "1.5x", "inf", "nan", "1e999", "-"}) EXPECT_FALSE(number_of(word));
  EXPECT_EQ(integer_of("-1"), -1);
  for (const char* word : {"", "1.5", "9223372036854775808", "0x10"}) {
    EXPECT_FALSE(integer_of(word)) << word;
  }
  EXPECT_EQ(integer_after("rank 3 nranks  16 x", " nranks "), 16);
  EXPECT_FALSE(integer_after("nranks many", "nranks"));
}

}  // namespace
}  // namespace gradhaul

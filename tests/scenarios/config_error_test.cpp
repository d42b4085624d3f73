#include "scenarios/config_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/utf8.h"

namespace gradhaul {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::StartsWith;

std::vector<std::string> texts(const Problems& problems) {
  std::vector<std::string> lines;
  for (const Problem& problem : problems.sorted()) lines.push_back(problem.text());
  return lines;
}

TEST(Problems, AreSortedByPlaceAndSaidOnce) {
  Problems problems;
  problems.add({"b.yaml", 2, 1}, "second");
  problems.add({"--set x=1", 0, 0}, "option");
  problems.add({"a.yaml", 1, 1}, "other file");
  problems.add({"b.yaml", 1, 9}, "first");
  problems.add({"b.yaml", 2, 1}, "second");
  problems.add({"b.yaml", 1, 10}, "later in the line");
  EXPECT_THAT(texts(problems),
              ElementsAre("b.yaml:1:9: first", "b.yaml:1:10: later in the line",
                          "b.yaml:2:1: second", "--set x=1: option", "a.yaml:1:1: other file"));
}

TEST(Problems, LoseTheMiddleOfLongMessages) {
  for (std::size_t length = 590; length < 1000; ++length) {
    std::string long_text;
    while (long_text.size() < length) long_text += "µ";
    Problems problems;
    problems.add({"f", 1, 1}, "begins " + long_text + " ends");
    const std::string message = problems.sorted().front().message;
    EXPECT_LE(message.size(), 610U);
    EXPECT_THAT(message, StartsWith("begins µ"));
    EXPECT_THAT(message, EndsWith("µ ends"));
    EXPECT_FALSE(first_invalid_utf8(message));
  }
}

TEST(ConfigError, SaysAllOfThemOnLinesOfTheirOwn) {
  const ConfigError error({{{"f", 1, 2}, "one"}, {{"f", 0, 0}, "two"}});
  EXPECT_STREQ(error.what(), "f:1:2: one\nf: two");
}

}  // namespace
}  // namespace gradhaul

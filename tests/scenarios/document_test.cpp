#include "scenarios/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gradhaul {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Kind = TreeNode::Kind;

std::vector<std::string> texts(const Problems& problems) {
  std::vector<std::string> lines;
  for (const Problem& problem : problems.sorted()) lines.push_back(problem.text());
  return lines;
}

TEST(Document, RemembersWhereEverythingStands) {
  Problems problems;
  const auto tree = parse_document("a: 1\nb:\n  c: [x, y]\n", "f.yaml", problems);
  ASSERT_TRUE(tree);
  EXPECT_THAT(texts(problems), IsEmpty());
  EXPECT_EQ(tree->kind, Kind::kMapping);
  EXPECT_EQ(tree->find("a")->location.text(), "f.yaml:1:4");
  const TreeNode* list = tree->find_path("b.c");
  ASSERT_NE(list, nullptr);
  EXPECT_EQ(list->key_location.text(), "f.yaml:3:3");
  EXPECT_EQ(list->children[1].text, "y");
  EXPECT_EQ(list->children[1].location.text(), "f.yaml:3:10");
  EXPECT_EQ(tree->find_path("b.d"), nullptr);
  EXPECT_EQ(tree->find_path("a.b"), nullptr);
}

TEST(Document, ReportsDuplicateKeysAtTheSecond) {
  Problems problems;
  const auto tree = parse_document("a: 1\nb: {c: 1, c: 2}\na: 2\n", "f", problems);
  ASSERT_TRUE(tree);
  EXPECT_THAT(texts(problems), ElementsAre("f:2:11: duplicate key \"c\"; line 2 has it already",
                                           "f:3:1: duplicate key \"a\"; line 1 has it already"));
  EXPECT_EQ(tree->find("a")->text, "1");
}

TEST(Document, CopiesAliases) {
  Problems problems;
  const auto tree = parse_document("a: &x {k: 1}\nb: *x\n", "f", problems);
  ASSERT_TRUE(tree);
  EXPECT_THAT(texts(problems), IsEmpty());
  EXPECT_EQ(tree->find_path("b.k")->text, "1");
}

// Each line ten times the one before: a file of a few hundred bytes that would fill the memory.
TEST(Document, RefusesAliasesThatMultiply) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) text += (j > 0 ? ", " : "") + last;
    text += "]\n";
  }
  Problems problems;
  EXPECT_FALSE(parse_document(text, "f", problems));
  EXPECT_THAT(texts(problems), ElementsAre("f:1:1: this is too large for a scenario"));
}

TEST(Document, RefusesDepth) {
  for (const char* bracket : {"[", "{a: ", "- ", "? "}) {
    std::string text;
    for (int i = 0; i < 100000; ++i) text += bracket;
    Problems problems;
    EXPECT_FALSE(parse_document(text, "f", problems)) << bracket;
    EXPECT_FALSE(problems.empty());
  }
}

TEST(Document, TellsNothingFromText) {
  Problems problems;
  const auto tree = parse_document("a:\nb: ~\nc: null\nd: \"null\"\ne: ''\n", "f", problems);
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->find("a")->kind, Kind::kNull);
  EXPECT_EQ(tree->find("a")->location.text(), "f:1:1");
  EXPECT_EQ(tree->find("b")->kind, Kind::kNull);
  EXPECT_EQ(tree->find("c")->kind, Kind::kNull);
  EXPECT_EQ(tree->find("d")->kind, Kind::kScalar);
  EXPECT_EQ(tree->find("e")->kind, Kind::kScalar);
}

TEST(Document, FindsAQuoteThatIsNeverClosed) {
  for (const char* text : {"a: \"b\nc: 1\n", "a: 'b\nc: 1", "a: \"b", "'"}) {
    Problems problems;
    const auto tree = parse_document(text, "f", problems);
    EXPECT_FALSE(problems.empty()) << text;
  }
}

TEST(Document, OfAnOptionStandsAtTheOption) {
  Problems problems;
  const Location option{"--set a=[1, 2]", 0, 0};
  const auto tree = parse_option_value("[1, 2]", option, problems);
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->children[1].location.text(), "--set a=[1, 2]");
  EXPECT_FALSE(parse_option_value("[1, 2", option, problems));
  EXPECT_THAT(texts(problems), ElementsAre("--set a=[1, 2]: not valid YAML: a bracket [ is never "
                                           "closed"));
}

}  // namespace
}  // namespace gradhaul

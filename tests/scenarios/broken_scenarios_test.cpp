// Every file in broken/ is a scenario with something wrong in it. Comments at its end say what:
//
//   # set: PATH=VALUE              an option that goes with it
//   # expect: LINE:COLUMN: text    a problem of the file itself
//   # expect: SHIPPED/…            a problem of a shipped file
//   # expect: --set …: text        a problem of an option
//
// All problems, in this order, and no other.

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "tests/scenarios/reading.h"

namespace gradhaul {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> broken_files() {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(GRADHAUL_SOURCE "/tests/scenarios/broken")) {
    files.push_back(entry.path().filename().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// What follows `# NAME: ` at the beginning of a line.
std::vector<std::string> remarks(const std::string& text, const std::string& name) {
  std::vector<std::string> found;
  std::istringstream lines(text);
  const std::string head = "# " + name + ": ";
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(head)) found.push_back(line.substr(head.size()));
  }
  return found;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

class BrokenScenario : public testing::TestWithParam<std::string> {};

TEST_P(BrokenScenario, IsReportedAsItSays) {
  const std::string folder = GRADHAUL_SOURCE "/tests/scenarios/broken/";
  const std::string text = text_of(folder + GetParam());
  const auto expected = remarks(text, "expect");
  EXPECT_FALSE(expected.empty()) << "the file does not say what is wrong with it";
  std::vector<std::string> problems;
  for (const std::string& problem :
       read_file_with(folder + GetParam(), remarks(text, "set")).problems) {
    problems.push_back(
        replaced(replaced(problem, GRADHAUL_SCENARIOS "/", "SHIPPED/"), folder, "HERE/"));
  }
  EXPECT_THAT(problems, testing::ElementsAreArray(expected));
}

INSTANTIATE_TEST_SUITE_P(All, BrokenScenario, testing::ValuesIn(broken_files()),
                         [](const auto& file) {
                           return replaced(fs::path(file.param).stem().string(), "-", "_");
                         });

TEST(BrokenScenarios, AreOfManyKinds) {
  std::set<std::string> kinds;
  for (const std::string& file : broken_files()) {
    const std::string text = text_of(GRADHAUL_SOURCE "/tests/scenarios/broken/" + file);
    for (const std::string& problem : remarks(text, "expect")) kinds.insert(problem);
  }
  EXPECT_GE(broken_files().size(), 100U);
  EXPECT_GE(kinds.size(), 100U);
}

}  // namespace
}  // namespace gradhaul

// --plot as a user gives it: a picture where there is matplotlib, and where there is none the
// results all the same, and what is missing.

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "tests/program/run_program.h"

namespace gradhaul {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string kGolden = std::string(GRADHAUL_SOURCE) + "/tests/golden/";

// Of a millisecond or so.
std::vector<std::string> predict_with(std::vector<std::string> more) {
  std::vector<std::string> arguments{
      "predict", "ideal-ring", "--set", "workload.size=[1KiB, 1MiB]", "--set", "cluster.nodes=2"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

bool has_matplotlib() {
  const std::string script =
      std::string(GRADHAUL_SOURCE) + "/analysis/plots/draw.py --can-draw >/dev/null 2>&1";
  return std::system(("python3 " + script).c_str()) == 0 ||
         std::system(("/usr/bin/python3 " + script).c_str()) == 0;
}

// A path that is not there, with this ending.
std::string new_file(const std::string& name) {
  const std::string path = temporary_file(name);
  std::filesystem::remove(path);
  return path;
}

TEST(Plot, DrawsWhatAnswersTheQuestion) {
  if (!has_matplotlib()) GTEST_SKIP() << "no matplotlib (package python3-matplotlib)";
  const std::string sizes = new_file("sizes.svg");
  const ProgramRun several = run_program(predict_with({"--plot", sizes}));
  EXPECT_EQ(several.status, 0) << several.err;
  EXPECT_THAT(several.err, IsEmpty());
  EXPECT_THAT(several.out, HasSubstr("# Avg bus bandwidth"));
  EXPECT_THAT(text_of(sizes), HasSubstr("How much bandwidth does ideal-ring get"));
  const std::string blame = new_file("blame.svg");
  EXPECT_EQ(run_program(predict_with({"--plot", blame, "--plot-kind", "blame"})).status, 0);
  EXPECT_THAT(text_of(blame), HasSubstr("What limits ideal-ring?"));
  const std::string compared = new_file("compared.svg");
  const ProgramRun comparison =
      run_program({"compare", kGolden + "predicted_all_reduce.json",
                   kGolden + "measured_all_reduce.json", "--plot", compared});
  EXPECT_EQ(comparison.status, 3) << comparison.err;
  EXPECT_THAT(text_of(compared), HasSubstr("Does the measurement agree with the prediction"));
}

TEST(Plot, DrawsLadders) {
  if (!has_matplotlib()) GTEST_SKIP() << "no matplotlib (package python3-matplotlib)";
  const std::string json = new_file("ladder.json");
  const std::string alone = new_file("ladder.svg");
  const ProgramRun run =
      run_program({"predict", "link-test", "--ladder", "--set=workload.size=[4MiB]", "--json", json,
                   "--plot", alone});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(text_of(alone), HasSubstr("What does each layer give link-test by itself?"));
  std::string measured = text_of(json);
  const std::string kind = "\"predicted\"";
  measured.replace(measured.find(kind), kind.size(), "\"measured\"");
  const std::string as_predicted = new_file("as_predicted.json");
  write_text(as_predicted, measured);
  const std::string both = new_file("both.svg");
  const ProgramRun compared = run_program({"compare", json, as_predicted, "--plot", both});
  EXPECT_EQ(compared.status, 0) << compared.err;
  EXPECT_THAT(text_of(both), AllOf(HasSubstr("leave what was predicted?"), HasSubstr("At none.")));
}

TEST(Plot, IsRefusedBeforeTheRun) {
  const ProgramRun ending = run_program(predict_with({"--plot", "picture.gif"}));
  EXPECT_EQ(ending.status, 2);
  EXPECT_THAT(ending.out, IsEmpty());
  EXPECT_THAT(ending.err, HasSubstr("picture.gif: --plot draws files that end in .svg, .png"));
  const ProgramRun kind = run_program(predict_with({"--plot-kind", "blam"}));
  EXPECT_EQ(kind.status, 2);
  EXPECT_THAT(kind.err, HasSubstr("--plot-kind blam: there is no such picture (did you mean "
                                  "\"blame\"?)"));
  EXPECT_EQ(run_program(predict_with({"--plot", "/no/such/folder/x.svg"})).status, 2);
}

TEST(Plot, PrintsResultsAndSaysWhatIsMissingWithoutMatplotlib) {
  // What Python runs as it starts takes the package away.
  const std::string folder = temporary_file("without_matplotlib");
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  write_text(folder + "/sitecustomize.py", "import sys\nsys.modules['matplotlib'] = None\n");
  const std::string picture = new_file("none.svg");
  const std::string json = new_file("kept.json");
  setenv("PYTHONPATH", folder.c_str(), 1);
  const ProgramRun run = run_program(predict_with({"--plot", picture, "--json", json}));
  unsetenv("PYTHONPATH");
  std::filesystem::remove_all(folder);
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.out, HasSubstr("# Avg bus bandwidth"));
  EXPECT_THAT(text_of(json), HasSubstr("gradhaul.result/1"));
  EXPECT_THAT(run.err, HasSubstr("packages python3 and python3-matplotlib"));
  EXPECT_THAT(run.err, HasSubstr(picture + ": not drawn"));
  EXPECT_FALSE(std::filesystem::exists(picture));
}

}  // namespace
}  // namespace gradhaul

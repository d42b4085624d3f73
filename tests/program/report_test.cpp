// gradhaul report, and the page as a browser shows it.

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/program/run_program.h"

namespace gradhaul {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::vector<std::string> kQuick{"quick", "--set=simulation.fidelity=analytic"};

// The JSON of a small run of a verb.
std::string made_by(const std::string& verb, const std::vector<std::string>& options) {
  const std::string json = temporary_file(verb + ".json");
  std::vector<std::string> arguments{verb};
  arguments.insert(arguments.end(), kQuick.begin(), kQuick.end());
  arguments.insert(arguments.end(), options.begin(), options.end());
  arguments.insert(arguments.end(), {"--json", json});
  const ProgramRun run = run_program(arguments);
  EXPECT_EQ(run.status, 0) << run.err;
  return json;
}

std::string page_of(const std::vector<std::string>& files, bool pictures = false) {
  const std::string html = temporary_file("page.html");
  std::vector<std::string> arguments{"report", "--html", html};
  if (!pictures) arguments.emplace_back("--no-pictures");
  arguments.insert(arguments.end(), files.begin(), files.end());
  const ProgramRun run = run_program(arguments);
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out, "");
  return html;
}

// What a shell command prints.
std::string said_by(const std::string& command) {
  const std::string out = temporary_file("said");
  if (std::system((command + " > '" + out + "' 2>/dev/null").c_str()) != 0) return "";
  return text_of(out);
}

// In a profile of its own, so that nobody else's browser answers.
std::string chromium(const std::string& what) {
  const std::string profile = temporary_file("profile");
  std::string said = said_by(
      "timeout 120 chromium --headless --no-sandbox --disable-gpu "
      "--disable-dev-shm-usage --user-data-dir='" +
      profile + "' " + what);
  std::filesystem::remove_all(profile);
  return said;
}

bool has(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

bool has_matplotlib() {
  return std::system(
             "(python3 -c 'import matplotlib' || /usr/bin/python3 -c 'import matplotlib') "
             "2>/dev/null") == 0;
}

TEST(Report, OfARunIsAPage) {
  const std::string page = text_of(page_of({made_by("predict", {})}));
  EXPECT_THAT(page, AllOf(HasSubstr("<h1>quick</h1>"), HasSubstr("Does this work here?"),
                          HasSubstr("Predicted for all_reduce of 67.1 MB over 16 ranks"),
                          HasSubstr("Limited by"), HasSubstr("fidelity: analytic")));
}

TEST(Report, OfASweepHasEveryPoint) {
  const std::string json =
      made_by("sweep", {"--vary=cluster.nodes=2,4", "--vary=workload.size=1MiB,1GiB"});
  const std::string page = text_of(page_of({json}));
  EXPECT_THAT(page, AllOf(HasSubstr("<th class=\"number\">cluster.nodes<"),
                          HasSubstr("<td class=\"number\">1073741824</td>"),
                          HasSubstr("--vary cluster.nodes=2,4 --vary workload.size=1MiB,1GiB")));
}

TEST(Report, OfAPredictionAndAMeasurementComparesThem) {
  // Small enough for a measurement of some milliseconds.
  const std::vector<std::string> world{"--set=workload.size=64KiB", "--set=cluster.nodes=2",
                                       "--set=cluster.ranks_per_node=1"};
  const std::string predicted = made_by("predict", world);
  std::vector<std::string> options = world;
  options.insert(options.end(), {"--backend=loopback", "--iterations=1", "--warmup=0"});
  const std::string measured = made_by("measure", options);
  const std::string page = text_of(page_of({measured, predicted}));
  EXPECT_THAT(page, AllOf(HasSubstr("quick: predicted beside measured"),
                          HasSubstr("measured times"), HasSubstr("Predicted for all_reduce"),
                          HasSubstr("Measured for all_reduce of 65.5 kB over 2 ranks")));
}

TEST(Report, IsPrintedWhereNoFileIsNamed) {
  const ProgramRun run = run_program({"report", "--no-pictures", made_by("predict", {})});
  EXPECT_EQ(run.status, 0);
  EXPECT_TRUE(run.out.starts_with("<!DOCTYPE html>"));
}

TEST(Report, RefusesWhatItCannotTellOf) {
  const std::string other = temporary_file("other.json");
  for (const auto& [text, says] : std::vector<std::pair<std::string, std::string>>{
           {"{", "is no JSON"},
           {"{\"schema\": \"x/1\"}", "is none of the files"},
           {"{\"schema\": \"gradhaul.result/1\"}", "is missing"},
           {"{\"schema\": \"gradhaul.sweep/1\"}", "is not what gradhaul writes"},
           {"{\"schema\": \"gradhaul.comparison/1\", \"rows\": 3}", "is not what gradhaul writes"},
       }) {
    write_text(other, text);
    const ProgramRun run = run_program({"report", "--no-pictures", other});
    EXPECT_EQ(run.status, 2) << text;
    EXPECT_THAT(run.err, AllOf(HasSubstr(other), HasSubstr(says)));
    EXPECT_EQ(run.out, "");
  }
  EXPECT_EQ(run_program({"report", "/no/such.json"}).status, 2);
}

TEST(Report, HasPicturesWherePythonCanDraw) {
  if (!has_matplotlib()) GTEST_SKIP() << "no matplotlib (package python3-matplotlib)";
  const std::string page = text_of(page_of({made_by("predict", {})}, true));
  EXPECT_THAT(page, AllOf(HasSubstr("<figure><svg role=\"img\""), HasSubstr("</svg>\n</figure>"),
                          Not(HasSubstr("There are none")), Not(HasSubstr("<metadata"))));
}

// A page stays within the width of a phone; what is wider scrolls by itself. The page forbids
// scripts: a copy that allows one measures itself.
TEST(Report, FitsAPhoneInABrowser) {
  if (!has("chromium")) GTEST_SKIP() << "no chromium (package chromium)";
  std::string page = text_of(page_of({made_by("sweep", {"--vary=cluster.nodes=2,4"})}));
  const std::size_t policy = page.find("<meta http-equiv");
  page.erase(policy, page.find('>', policy) + 1 - policy);
  page.insert(page.find("</body>"),
              "<script>const root = document.documentElement;"
              "document.title = root.scrollWidth > root.clientWidth ? 'too wide' : 'it fits';"
              "</script>");
  const std::string copy = temporary_file("measured.html");
  write_text(copy, page);
  const std::string dom = chromium("--window-size=500,900 --dump-dom 'file://" + copy + "'");
  EXPECT_THAT(dom, AllOf(HasSubstr("<h1>quick</h1>"), HasSubstr("<title>it fits</title>")));
}

TEST(Report, PrintsFromABrowser) {
  if (!has("chromium")) GTEST_SKIP() << "no chromium (package chromium)";
  const std::string html = page_of({made_by("predict", {})});
  const std::string pdf = temporary_file("page.pdf");
  std::filesystem::remove(pdf);
  chromium("--print-to-pdf='" + pdf + "' 'file://" + html + "'");
  EXPECT_TRUE(text_of(pdf).starts_with("%PDF-"));
}

}  // namespace
}  // namespace gradhaul

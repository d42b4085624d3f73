#include "analysis/html_report.h"

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "analysis/result_json.h"
#include "analysis/sweep_result.h"
#include "tests/analysis/sample_prediction.h"

namespace gradhaul {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::ordered_json;

constexpr const char* kEvil = "<script>alert(\"1\")</script> & 'more'";
constexpr const char* kHarmless =
    "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;more&#39;";

std::string golden_text(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(std::string(GRADHAUL_SOURCE) + "/tests/golden/" + name).rdbuf();
  return text.str();
}

ReportedFile sample_file() {
  ScenarioRecord scenario{"sample", "sample.yaml", "abc123", {}};
  scenario.effective = {{"scenario", "sample"},
                        {"question", "How long?"},
                        {"cluster", {{"nodes", 4}, {"faults", Json::array()}}}};
  return {"result.json", result_json(testing::sample_prediction(), scenario, "1.2.3"), {}};
}

TEST(HtmlText, IsEscaped) { EXPECT_EQ(html_escaped(kEvil), kHarmless); }

TEST(HtmlPage, NeedsNothingFromElsewhere) {
  const std::string page = html_page(kEvil, "<p>body</p>\n");
  EXPECT_THAT(page, AllOf(HasSubstr("<!DOCTYPE html>"), HasSubstr("default-src 'none'"),
                          HasSubstr("img-src data:"), HasSubstr("name=\"viewport\""),
                          HasSubstr("prefers-color-scheme: dark"), HasSubstr("@media print"),
                          HasSubstr("<p>body</p>")));
  EXPECT_THAT(page,
              AllOf(Not(HasSubstr("<script")), Not(HasSubstr("http:")), Not(HasSubstr("https:")),
                    Not(HasSubstr("@import")), Not(HasSubstr("src="))));
}

TEST(HtmlPicture, BecomesPartOfThePageUnderNamesOfItsOwn) {
  const HtmlPicture picture{
      "Which <one>?",
      "<?xml version=\"1.0\"?>\n<!DOCTYPE svg PUBLIC \"x\" \"http://x/svg.dtd\">\n"
      "<svg height=\"10pt\" viewBox=\"0 0 20 10\" width=\"20pt\" version=\"1.1\">"
      "<metadata><a href=\"http://x\"/></metadata><g id=\"axes\"><path id=\"mark\" width=\"3\"/>"
      "<use xlink:href=\"#mark\" clip-path=\"url(#axes)\"/></g></svg>\n",
      ""};
  const std::string html = html_picture(picture, 7);
  EXPECT_THAT(html, HasSubstr("<figure><svg role=\"img\" aria-label=\"Which &lt;one&gt;?\""));
  EXPECT_THAT(html, HasSubstr("<g id=\"p7-axes\"><path id=\"p7-mark\" width=\"3\"/>"));
  EXPECT_THAT(html, HasSubstr("<use xlink:href=\"#p7-mark\" clip-path=\"url(#p7-axes)\"/>"));
  EXPECT_THAT(html, AllOf(HasSubstr("viewBox"), Not(HasSubstr("10pt")), Not(HasSubstr("20pt")),
                          Not(HasSubstr("http")), Not(HasSubstr("<?xml"))));
  EXPECT_THAT(html_picture({"Which?", "", "it is missing"}, 1),
              HasSubstr("Which? A picture would tell, but was not drawn: it is missing."));
}

TEST(HtmlResult, SaysWhatWasAskedWhatCameOutAndHow) {
  const std::string html = result_section(sample_file());
  for (const char* says :
       {"<h1>sample</h1>", "<p class=\"question\">How long?</p>",
        // 14 GB in 70.123 ms are 199.65 GB/s; bus: times 2 * 31 / 32.
        "Predicted for all_reduce of 14 GB over 32 ranks: 70.1 ms, a bus bandwidth of 386.82 GB/s.",
        "Limited by node0.nic0 (2 equal)", "<td class=\"number\">14000000000</td>",
        "node*.nic0: moving data, or waiting for its turn", "Busiest resources",
        "14000000001 B is rounded down", "0123456789abcdef", "abc123",
        "gradhaul predict result.json", "cluster:\n  nodes: 4\n  faults: []\n"}) {
    EXPECT_THAT(html, HasSubstr(says));
  }
}

TEST(HtmlResult, EscapesWhatItTakesFromFiles) {
  ReportedFile file = sample_file();
  file.name = kEvil;
  file.content["scenario"]["name"] = kEvil;
  file.content["scenario"]["effective"]["question"] = kEvil;
  file.content["scenario"]["effective"]["key <b>"] = kEvil;
  file.content["notes"] = Json::array({kEvil});
  file.content["rows"][0]["algorithm"] = kEvil;
  file.content["resources"][0]["kind"] = kEvil;
  file.content["engine"]["digest"] = kEvil;
  file.pictures = {{kEvil, "", kEvil}, {"x", "", "y"}};
  const std::string html = result_section(file);
  EXPECT_THAT(html, AllOf(HasSubstr(kHarmless), Not(HasSubstr("<script")), Not(HasSubstr("<b>"))));
}

TEST(HtmlResult, RefusesWhatIsNone) {
  ReportedFile file = sample_file();
  file.content["rows"] = Json::array();
  EXPECT_THROW(result_section(file), ReportError);
  file.content["rows"] = "none";
  EXPECT_THROW(result_section(file), ReportError);
}

TEST(HtmlResult, SaysOnceThatPicturesAreMissing) {
  ReportedFile file = sample_file();
  file.pictures = {{"One?", "", "no python3"}, {"Two?", "", "no python3"}};
  const std::string html = result_section(file);
  EXPECT_THAT(html, AllOf(HasSubstr("There are none: no python3."), Not(HasSubstr("Two?"))));
}

TEST(HtmlComparison, JudgesInASentence) {
  const ReportedFile file{"c.json", Json::parse(golden_text("comparison.json")), {}};
  EXPECT_EQ(kind_of_file(file.content), ReportedKind::kComparison);
  const std::string html = comparison_section(file);
  EXPECT_THAT(html,
              HasSubstr("1 of 4 measured times are within 10 % of the predicted. The farthest "
                        "off, 10 MB, took 1.6 times as long as predicted; the median is 1.08 "
                        "times."));
  EXPECT_THAT(html, HasSubstr("<td class=\"number\">1.600</td>"));
  EXPECT_THAT(html, HasSubstr("wrong: 2 wrong values"));
}

// perftest knows of no place; a finding says which layer it is about.
TEST(HtmlComparison, TellsWhatIsNotKnownAndWhichLayer) {
  ReportedFile file{"c.json", Json::parse(golden_text("comparison.json")), {}};
  for (Json& row : file.content["rows"]) row["in_place"] = nullptr;
  file.content["findings"] = {{{"layer", "PCIe"}, {"text", "it trained down"}},
                              {{"layer", nullptr}, {"text", "versions differ"}}};
  const std::string html = comparison_section(file);
  EXPECT_THAT(html, AllOf(HasSubstr("<td>-</td>"), Not(HasSubstr("<td>out</td>")),
                          HasSubstr("PCIe: it trained down"), HasSubstr(">versions differ<")));
}

TEST(HtmlResult, TellsJobsApartAndWhatItLeavesOut) {
  ReportedFile file = sample_file();
  EXPECT_THAT(result_section(file), Not(HasSubstr("more, in the file")));
  file.content["rows"][0]["job"] = "training";
  for (int i = 0; i < 13; ++i) {
    Json use = file.content["resources"][0];
    use["name"] = std::string("part") + static_cast<char>('a' + i);
    file.content["resources"].push_back(use);
  }
  EXPECT_THAT(result_section(file),
              AllOf(HasSubstr("<td>training</td>"), HasSubstr("more, in the file")));
}

ReportedFile sample_sweep_file() {
  SweepResult sweep;
  sweep.scenario = {"sample", "sample.yaml", "abc123", {{"scenario", "sample"}}};
  sweep.question = "How many?";
  sweep.version = "1.2.3";
  sweep.axes = {{"cluster.nodes", {"2", kEvil}}};
  SweepOutcome failed;
  failed.error = kEvil;
  sweep.points = {{{"2"}, outcome_of(testing::sample_prediction(), "1.2.3")}, {{kEvil}, failed}};
  return {"sweep.json", Json::parse(sweep_json_text(sweep)), {}};
}

TEST(HtmlSweep, HasEveryPointAndWhatFailed) {
  const std::string html = sweep_section(sample_sweep_file());
  for (const char* says :
       {"How many?",
        "Of 2 points the highest bus bandwidth, 386.82 GB/s for 14 GB, is that of cluster.nodes=2. "
        "1 failed.",
        "Points that failed", kHarmless, "gradhaul sweep sample.yaml --vary "}) {
    EXPECT_THAT(html, HasSubstr(says));
  }
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  ReportedFile broken = sample_sweep_file();
  broken.content["points"][0]["result"]["rows"] = 3;
  EXPECT_THROW(sweep_section(broken), ReportError);
}

TEST(Pictures, SuitWhatTheFileHolds) {
  const auto kinds = [](const ReportedFile& file) {
    std::string text;
    for (const PictureAsked& asked : pictures_of(file)) text += asked.kind + " ";
    return text;
  };
  ReportedFile one = sample_file();
  EXPECT_EQ(kinds(one), "blame topology ");
  one.content["rows"].push_back(one.content["rows"][0]);
  one.content["rows"][1]["size_bytes"] = 8;
  EXPECT_EQ(kinds(one), "busbw blame topology ");
  EXPECT_EQ(kinds(sample_sweep_file()), "heat-map ");
}

}  // namespace
}  // namespace gradhaul

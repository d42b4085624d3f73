// Logs of nccl-tests, perftest and NCCL, in the formats of their releases: each NAME.log or
// NAME.json has beside it NAME.expected, written by hand with it, which says what must be read:
//   format, collective, ranks, datatype   of the run, `-` where the log does not say
//   SIZE PLACE TIME BUSBW WRONG [MIN P99] of a row: us, GB/s; PLACE is out, in or -
//   nccl …, perftest …                    facts beside the rows
//   empty WORDS                           no rows, and what is said of that

#include <gmock/gmock.h>

#include <cmath>

#include "analysis/input_error.h"
#include "tests/analysis/run_reading.h"

namespace gradhaul::testing {
namespace {

using ::testing::HasSubstr;

struct Expected {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::vector<std::string>> facts;
};

Expected expected_of(const std::string& name) {
  Expected expected;
  std::istringstream lines(
      whole_text(log_path(std::filesystem::path(name).replace_extension(".expected"))));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream stream(line);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    const bool row = !words.empty() && std::isdigit(static_cast<unsigned char>(words[0][0])) != 0;
    (row ? expected.rows : expected.facts).push_back(words);
  }
  return expected;
}

std::string rest_of(const std::vector<std::string>& words, std::size_t from) {
  std::string text;
  for (std::size_t i = from; i < words.size(); ++i) text += (i > from ? " " : "") + words[i];
  return text;
}

void expect_row(const ComparedRow& row, const std::vector<std::string>& words) {
  EXPECT_EQ(std::to_string(row.size_bytes), words[0]);
  EXPECT_EQ(row.in_place ? (*row.in_place ? "in" : "out") : "-", words[1]);
  const double time = std::stod(words[2]);
  EXPECT_NEAR(row.time_us, time, 1e-8 * time);
  // Printed with two digits after the point, or with fewer from 10000 on.
  const double busbw = std::stod(words[3]);
  if (row.busbw_GBps) {
    EXPECT_NEAR(*row.busbw_GBps, busbw, 0.0051 + 6e-4 * busbw);
  }
  EXPECT_NEAR(row.algbw_GBps, std::stod(words[0]) / time / 1e3, 1e-6 * row.algbw_GBps);
  EXPECT_EQ(row.wrong.has_value(), words[4] != "-");
  if (row.wrong) {
    EXPECT_EQ(*row.wrong, std::stod(words[4]));
  }
  EXPECT_EQ(row.min_us.has_value(), words.size() > 5);
  if (words.size() <= 5) return;
  EXPECT_EQ(row.min_us.value_or(0), std::stod(words[5]));
  EXPECT_EQ(row.p99_us.value_or(0), std::stod(words[6]));
}

void expect_nccl(const NcclFacts& nccl, const std::vector<std::string>& words) {
  const std::string& what = words[1];
  if (what == "version") {
    EXPECT_EQ(nccl.version.value_or(Seen<std::string>{}).value, rest_of(words, 2));
  }
  if (what == "channels") {
    EXPECT_EQ(nccl.channels.value_or(Seen<int>{}).value, std::stoi(words[2]));
  }
  if (what == "ranks") {
    EXPECT_EQ(nccl.ranks.value_or(Seen<int>{}).value, std::stoi(words[2]));
  }
  if (what == "warnings") {
    EXPECT_EQ(nccl.warnings.size(), std::stoul(words[2]));
  }
  if (what == "transport") {
    const std::string name = rest_of({words.begin(), words.end() - 1}, 2);
    ASSERT_TRUE(nccl.transports.contains(name)) << name;
    EXPECT_EQ(nccl.transports.at(name).count, std::stoi(words.back())) << name;
  }
  if (what == "choice") {
    const auto found = nccl.choices.find({words[2], std::stoll(words[3])});
    ASSERT_NE(found, nccl.choices.end());
    EXPECT_EQ(found->second.algorithm, words[4]);
    EXPECT_EQ(found->second.protocol, words[5]);
    EXPECT_EQ(found->second.channels, std::stoi(words[6]));
  }
}

void expect_fact(const ComparedRun& run, const std::vector<std::string>& words) {
  const std::string value = rest_of(words, 1);
  const bool known = value != "-";
  const ComparedRow row = run.rows.empty() ? ComparedRow{} : run.rows.front();
  if (words[0] == "format") {
    EXPECT_EQ(run.format, value);
  }
  if (words[0] == "collective") {
    EXPECT_EQ(row.collective, known ? value : "");
  }
  if (words[0] == "datatype") {
    EXPECT_EQ(row.datatype, value);
  }
  if (words[0] == "ranks") {
    EXPECT_EQ(row.ranks ? std::to_string(*row.ranks) : "-", value);
  }
  if (words[0] == "empty") {
    EXPECT_THAT(run.why_empty, HasSubstr(value));
  }
  if (words[0] == "nccl") expect_nccl(run.nccl, words);
  if (words[0] != "perftest") return;
  ASSERT_TRUE(run.perftest);
  if (words[1] == "mtu") {
    EXPECT_EQ(run.perftest->mtu.value_or(Seen<int>{}).value, std::stoi(words[2]));
  }
  if (words[1] == "queue_pairs") {
    EXPECT_EQ(run.perftest->queue_pairs.value_or(Seen<int>{}).value, std::stoi(words[2]));
  }
  if (words[1] == "gpu_memory") {
    EXPECT_TRUE(run.perftest->gpu_memory_line);
  }
}

TEST(Logs, AreReadAsExpected) {
  EXPECT_GE(all_logs().size(), 20U);
  for (const std::string& name : all_logs()) {
    SCOPED_TRACE(name);
    const ComparedRun run = run_of_log(name);
    const Expected expected = expected_of(name);
    ASSERT_GE(expected.facts.size(), 2U);
    for (const auto& words : expected.facts) expect_fact(run, words);
    ASSERT_EQ(run.rows.size(), expected.rows.size());
    for (std::size_t i = 0; i < run.rows.size(); ++i) {
      SCOPED_TRACE(i);
      expect_row(run.rows[i], expected.rows[i]);
    }
  }
}

// However much of it is there: the rows so far, or an error that names a place.
TEST(Logs, CutAnywhereGiveTheRowsSoFar) {
  for (const std::string& name : all_logs()) {
    const std::string text = whole_text(log_path(name));
    const ComparedRun whole = run_of(text);
    std::size_t most = 0;
    for (std::size_t length = 0; length <= text.size(); ++length) {
      SCOPED_TRACE(name + " cut at " + std::to_string(length));
      try {
        const ComparedRun cut = run_of(text.substr(0, length));
        ASSERT_LE(cut.rows.size(), whole.rows.size());
        if (length > 0 && text[length - 1] == '\n') {
          ASSERT_GE(cut.rows.size(), most);
        }
        most = std::max(most, cut.rows.size());
        for (std::size_t i = 0; i < cut.rows.size(); ++i) {
          ASSERT_EQ(cut.rows[i].size_bytes, whole.rows[i].size_bytes);
          ASSERT_EQ(cut.rows[i].time_us, whole.rows[i].time_us);
          ASSERT_EQ(cut.rows[i].in_place, whole.rows[i].in_place);
        }
      } catch (const InputError& error) {
        ASSERT_EQ(std::string(error.what()).rfind("log:", 0), 0U) << error.what();
        ASSERT_EQ(most, 0U) << error.what();
      }
    }
    EXPECT_EQ(most, whole.rows.size()) << name;
  }
}

TEST(Logs, WithOtherLineEndsColoursAndLabelsAreTheSame) {
  for (const std::string& name : all_logs()) {
    if (!name.ends_with(".log")) continue;
    const std::string text = whole_text(log_path(name));
    std::string dressed;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      dressed += "\x1b[36m[1,0]<stdout>: \x1b[0m" + line + "\x1b[K\r\n";
    }
    const ComparedRun plain = run_of(text);
    const ComparedRun run = run_of(dressed);
    ASSERT_EQ(run.rows.size(), plain.rows.size()) << name;
    for (std::size_t i = 0; i < run.rows.size(); ++i) {
      EXPECT_EQ(run.rows[i].time_us, plain.rows[i].time_us) << name;
      EXPECT_EQ(run.rows[i].line, plain.rows[i].line) << name;
    }
    EXPECT_EQ(run.nccl.lines, plain.nccl.lines) << name;
  }
}

TEST(Logs, SayWhatTheyAreNot) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "log:1:1: it is empty"},
      {"hello\nworld\n", "log:2:1: 2 lines read, and nothing known found in them"},
      {"{\"a\": 1,\n  \"b\" 2}", "log:2:7: no JSON"},
      {"{\"a\": [1, 2", "the file ends before its JSON does"},
      {"{\"a\": 1}", "none that is known here"},
      {R"({"schema": "gradhaul.result/2"})", "its schema is \"gradhaul.result/2\""},
      {R"({"schema": "gradhaul.result/1", "kind": "guessed"})", "its kind is \"guessed\""},
      {R"({"schema": "gradhaul.result/1", "kind": "measured"})", "a list `rows`"},
      {R"({"schema": "gradhaul.result/1", "kind": "measured", "rows": [{}]})",
       "rows[0].collective is not a text"},
      {R"({"results": [{"size": "x"}], "nccl_version": 1})", "results[0].size is no whole number"},
      {"{\ntest_info: {\n},\nresults: {\nMsgSize: 8,\n}\n}", "names its test"},
      {"{\"test_info\": {\"test\": \"Send_BW_Test\"}, \"results\": {\"MsgSize\": 8,\n"
       "\"BW_average\": 5.0}}",
       "does not say whether BW_average is in MiB/s or Gb/s"},
      {std::string(100, '{') + "}", "no JSON"},
  };
  for (const auto& [text, words] : cases) {
    try {
      run_of(text);
      ADD_FAILURE() << text;
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr(words)) << text;
    }
  }
}

TEST(Logs, AreReadInBoundedMemory) {
  // A line without end, rows without end, nesting without end.
  const std::string row =
      "     1048576  262144  float  sum  -1  51.20  20.48  35.84  0  51.20  20.48  35.84  0\n";
  const ComparedRun endless_line = run_of(row + std::string(5 << 20, 'x'));
  EXPECT_EQ(endless_line.rows.size(), 2U);
  std::string rows;
  for (int i = 0; i < 40000; ++i) rows += row;
  const ComparedRun endless_rows = run_of(rows);
  EXPECT_EQ(endless_rows.rows.size(), kMaxRows);
  ASSERT_FALSE(endless_rows.notes.empty());
  EXPECT_THAT(endless_rows.notes.back(), HasSubstr("14464 rows beyond the first 65536"));
  std::string deep = "{\"a\":";
  for (int i = 0; i < 100000; ++i) deep += '[';
  EXPECT_THROW(run_of(deep), InputError);
}

// "-1" may be glued to the host of a line that NCCL wrote into a row.
TEST(Logs, AnUnknownMixtureOfRowsIsLeftOut) {
  const std::string torn = "1048576 262144 float sum -1 51.20 99.99 35.84 0 51.20 20.48 35.84 0\n";
  const ComparedRun run = run_of(torn);
  ASSERT_EQ(run.rows.size(), 1U);  // its second half
  EXPECT_TRUE(*run.rows[0].in_place);
  EXPECT_THAT(run.notes.back(), HasSubstr("do not agree are left out, that of line 1 first"));
}

// As found by damage: 1e-300 us would make a bandwidth that is no number.
TEST(Logs, TimesThatNobodyMeasuredAreNone) {
  const std::string row = R"({"collective": "all_reduce", "ranks": 2, "size_bytes": 1000000000000,
      "time_us": 1e-300})";
  EXPECT_THROW(
      run_of(R"({"schema": "gradhaul.result/1", "kind": "measured", "rows": [)" + row + "]}"),
      InputError);
  EXPECT_THAT(run_of("8 2 float sum -1 1e-300 0.00 0.00 0 1e300 0.00 0.00 0\n").rows,
              ::testing::IsEmpty());
  EXPECT_THAT(run_of(R"({"nccl_version": 22707, "results": [{"size": 1000000000000,
                         "out_of_place": {"time": 1e-300}}]})")
                  .rows,
              ::testing::IsEmpty());
}

TEST(Logs, PrintedTimesWithoutDigitsAreTakenFromBandwidth) {
  // 1.2e+07 us has two digits, 178.26 GB/s has five.
  const ComparedRun run = run_of(
      "2147483648000 536870912000 float sum -1 1.2e+07 178.26 334.24 0 1.2e+07 179.0 335.6 0\n");
  ASSERT_EQ(run.rows.size(), 2U);
  EXPECT_NEAR(run.rows[0].time_us, 2147483648000 / 178.26e3, 1);
}

}  // namespace
}  // namespace gradhaul::testing

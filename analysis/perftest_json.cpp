#include "analysis/perftest_json.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/input_error.h"
#include "analysis/log_lines.h"
#include "analysis/perftest_row.h"

namespace gradhaul {
namespace {

struct Field {
  std::string_view name;
  std::string_view value;  // without its quotes; empty: an object or list follows
  std::int64_t line = 0;
  bool closes = false;  // not a field, but the end of an object
  bool ended = true;    // false: the text ends with the value
};

// Names and values in the order of the file; braces count, and nothing else of the grammar does.
class Fields {
 public:
  explicit Fields(std::string_view text) : text_(text) {}

  std::optional<Field> next() {
    while (true) {
      skip();
      if (at_ == text_.size()) return std::nullopt;
      if (text_[at_] == '}') {
        ++at_;
        return Field{{}, {}, line_, true, true};
      }
      if (text_[at_] == '{') {
        ++at_;
        continue;
      }
      Field field;
      field.line = line_;
      field.name = word();
      skip_blanks();
      if (field.name.empty() && at_ < text_.size() && text_[at_] != ':') {
        ++at_;  // a character that belongs nowhere
        continue;
      }
      if (at_ == text_.size() || text_[at_] != ':') continue;
      ++at_;
      skip_blanks();
      if (at_ < text_.size() && text_[at_] != '{' && text_[at_] != '[') field.value = word();
      field.ended = at_ < text_.size();
      return field;
    }
  }

 private:
  void skip() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') ++line_;
      if (c != ' ' && c != '\t' && c != '\r' && c != '\n' && c != ',' && c != '[' && c != ']')
        break;
      ++at_;
    }
  }
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  std::string_view word() {
    if (at_ < text_.size() && text_[at_] == '"') {
      const std::size_t begin = ++at_;
      const std::size_t end = std::min(text_.find_first_of("\"\n", begin), text_.size());
      at_ = end < text_.size() && text_[end] == '"' ? end + 1 : end;
      return text_.substr(begin, end - begin);
    }
    const std::size_t begin = at_;
    at_ = std::min(text_.find_first_of(":,{}\r\n\"", at_), text_.size());
    std::size_t end = at_;
    while (end > begin && (text_[end - 1] == ' ' || text_[end - 1] == '\t')) --end;
    return text_.substr(begin, end - begin);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::int64_t line_ = 1;
};

void take_setting(const Field& field, PerftestFacts& facts) {
  const auto number = integer_of(field.value);
  const bool small = number && *number > 0 && *number < 1'000'000'000;
  if (field.name == "Device") facts.device = field.value.substr(0, 64);
  if (field.name == "Link_type") {
    facts.link_type = Seen<std::string>{std::string(field.value.substr(0, 32)), field.line};
  }
  if (field.name == "cuda_device") facts.gpu_memory_line = field.line;
  if (!small) return;
  const Seen<int> seen{static_cast<int>(*number), field.line};
  if (field.name == "Number_of_qps") facts.queue_pairs = seen;
  if (field.name == "Mtu" || field.name == "MTU") facts.mtu = seen;
  if (field.name == "TX_depth") facts.depth = seen;
}

void take_result(const Field& field, PerftestNumbers& numbers) {
  const auto number = field.ended ? number_of(field.value) : std::nullopt;
  if (!number) return;
  if (field.name == "MsgSize") {
    numbers = {};
    numbers.size_bytes = integer_of(field.value).value_or(0);
    numbers.line = field.line;
  }
  if (field.name == "BW_average") numbers.bandwidth = number;
  if (field.name == "MsgRate") numbers.mega_rate = number;
  if (field.name == "t_min") numbers.min_us = number;
  if (field.name == "t_typical") numbers.typical_us = number;
  if (field.name == "t_avg") numbers.average_us = number;
  if (field.name == "percentile_99") numbers.p99_us = number;
}

struct Reading {
  std::optional<PerftestTest> test;
  PerftestFacts facts;
  std::vector<PerftestNumbers> results;
};

Reading read_fields(std::string_view text) {
  Reading reading;
  PerftestNumbers numbers;
  Fields fields(text);
  bool counts = true;  // false: within the results of one end of a test that reports both
  while (const std::optional<Field> field = fields.next()) {
    if (field->closes) {
      if (numbers.size_bytes > 0 && counts && reading.results.size() < kMaxRows) {
        reading.results.push_back(numbers);
      }
      numbers = {};
      counts = true;
      continue;
    }
    if (field->name == "results_local" || field->name == "results_remote") counts = false;
    if (field->name == "test") reading.test = perftest_test(field->value);
    take_setting(*field, reading.facts);
    take_result(*field, numbers);
  }
  return reading;
}

// All results of one file have one unit: the one that most message rates agree with.
PerftestUnit common_unit(const std::vector<PerftestNumbers>& results) {
  int mebibytes = 0;
  int gigabits = 0;
  for (const PerftestNumbers& numbers : results) {
    const auto unit = unit_by_rate(numbers);
    if (unit == PerftestUnit::kMebibytes) ++mebibytes;
    if (unit == PerftestUnit::kGigabits) ++gigabits;
  }
  if (mebibytes == gigabits) return PerftestUnit::kUnknown;
  return mebibytes > gigabits ? PerftestUnit::kMebibytes : PerftestUnit::kGigabits;
}

}  // namespace

bool is_perftest_json(std::string_view beginning) {
  return beginning.substr(0, 4096).find("test_info") != std::string_view::npos;
}

ComparedRun read_perftest_json(std::string_view text, const std::string& source) {
  Reading reading = read_fields(text);
  if (!reading.test) {
    throw InputError({source, 1, 1},
                     "a file of perftest names its test, as \"test\": \"RDMA_Write_BW_Test\" in "
                     "test_info; this one does not");
  }
  ComparedRun run;
  run.source = source;
  run.format = "perftest JSON";
  run.name = reading.test->title;
  const PerftestUnit unit = common_unit(reading.results);
  for (PerftestNumbers& numbers : reading.results) {
    numbers.unit = unit;
    if (!reading.test->latency && unit == PerftestUnit::kUnknown) {
      throw InputError({source, numbers.line, 1},
                       "the file does not say whether BW_average is in MiB/s or Gb/s, and MsgRate "
                       "has too few digits to tell; the printed output names the unit");
    }
    if (const auto row = perftest_row(*reading.test, numbers)) run.rows.push_back(*row);
  }
  reading.facts.test = reading.test->title;
  reading.facts.bidirectional = reading.test->bidirectional;
  if (!run.rows.empty()) add_perftest_notes(*reading.test, run);
  run.perftest = reading.facts;
  if (run.rows.empty()) run.why_empty = "it holds no finished `results`";
  return run;
}

}  // namespace gradhaul

#include "analysis/perftest_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gradhaul {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// What stands behind "KEY  : ", up to the next column of the set-up.
std::string_view value_of(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return {};
  std::string_view rest = text.substr(at + key.size());
  const std::size_t colon = rest.find(':');
  if (colon == std::string_view::npos || !trimmed(rest.substr(0, colon)).empty()) return {};
  rest = trimmed(rest.substr(colon + 1));
  return rest.substr(0, rest.find_first_of(" \t"));
}

std::optional<Seen<int>> small_number(std::string_view word, std::int64_t line) {
  const auto number = integer_after(word, "");
  if (!number || *number <= 0 || *number > 1'000'000'000) return std::nullopt;
  return Seen<int>{static_cast<int>(*number), line};
}

// "BW peak[Gb/sec]" is one column's name, in two words: a name begins with '#' or ends with ']'.
std::vector<std::string> column_names(std::string_view header) {
  std::vector<std::string> names;
  std::string begun;
  for (const std::string_view word : words_of(header)) {
    if (!begun.empty()) begun += ' ';
    begun += word;
    if (!word.starts_with('#') && !word.ends_with(']')) continue;
    names.push_back(std::exchange(begun, {}));
  }
  // "tps average", the last of a latency by duration.
  if (!begun.empty()) names.push_back(begun);
  return names;
}

// The number at the end of "[1,0]<stdout>:65536".
std::string_view unprefixed(std::string_view word) {
  const std::size_t mark = word.find_last_of(":>|]");
  return mark == std::string_view::npos ? word : word.substr(mark + 1);
}

}  // namespace

void PerftestLog::read(const LogLine& line) {
  if (contains(line.text, "#bytes")) {
    if (read_header(line)) return;
  }
  if (!columns_.empty()) read_row(line);
  read_setup(line.text, line.number);
}

void PerftestLog::read_setup(std::string_view text, std::int64_t line) {
  const std::string_view title = trimmed(text);
  for (const std::string_view kind : {"RDMA_Write ", "RDMA_Read ", "Send ", "Atomic ", "Write "}) {
    const std::size_t at = title.find(kind);
    if (at == std::string_view::npos || !title.ends_with("Test")) continue;
    if (auto test = perftest_test(title.substr(at))) {
      if (test_ && test_->title != test->title && !rows_.empty()) {
        notes_.push_back(
            fmt::format("line {} begins another test ({}); only the first, {}, is read", line,
                        test->title, test_->title));
        columns_.clear();
        return;
      }
      test_ = std::move(test);
      return;
    }
  }
  if (contains(text, "Waiting for client to connect")) server_ = true;
  if (contains(text, "Conflicting CPU frequency") && frequency_ == 0) frequency_ = line;
  if ((contains(text, "CUDA") || contains(text, "GPU buffer")) && !facts_.gpu_memory_line) {
    facts_.gpu_memory_line = line;
  }
  if (!test_) return;
  const auto take = [&](std::string_view key, std::optional<Seen<int>>& fact) {
    const std::string_view value = value_of(text, key);
    if (!value.empty() && !fact) fact = small_number(value, line);
  };
  take("Number of qps", facts_.queue_pairs);
  take("Mtu", facts_.mtu);
  take("TX depth", facts_.depth);
  if (const auto device = value_of(text, "Device"); !device.empty() && facts_.device.empty()) {
    facts_.device = device.substr(0, 64);
  }
  if (const auto type = value_of(text, "Link type"); !type.empty() && !facts_.link_type) {
    facts_.link_type = Seen<std::string>{std::string(type.substr(0, 32)), line};
  }
}

bool PerftestLog::read_header(const LogLine& line) {
  const std::vector<std::string> names = column_names(line.text.substr(line.text.find("#bytes")));
  std::vector<Column> columns;
  PerftestUnit unit = PerftestUnit::kUnknown;
  for (const std::string& name : names) {
    Column column = Column::kOther;
    if (name == "#bytes") column = Column::kSize;
    if (name.starts_with("BW average[")) {
      column = Column::kBandwidth;
      unit = contains(name, "Gb/") ? PerftestUnit::kGigabits : PerftestUnit::kMebibytes;
    }
    if (name == "MsgRate[Mpps]") column = Column::kRate;
    if (name == "t_min[usec]") column = Column::kMin;
    if (name == "t_typical[usec]") column = Column::kTypical;
    if (name == "t_avg[usec]") column = Column::kAverage;
    if (name == "99% percentile[usec]") column = Column::kP99;
    columns.push_back(column);
  }
  const auto has = [&](Column column) {
    return std::find(columns.begin(), columns.end(), column) != columns.end();
  };
  if (!has(Column::kBandwidth) && !has(Column::kTypical) && !has(Column::kAverage)) return false;
  if (!test_) {
    test_ = PerftestTest{};
    test_->title = has(Column::kBandwidth) ? "BW Test" : "Latency Test";
    test_->latency = !has(Column::kBandwidth);
  }
  columns_ = std::move(columns);
  unit_ = unit;
  return true;
}

void PerftestLog::read_row(const LogLine& line) {
  std::vector<std::string_view> words = words_of(line.text);
  if (words.size() < columns_.size()) return;
  // What launchers put before a row is left of it.
  words.erase(words.begin(), words.end() - static_cast<std::ptrdiff_t>(columns_.size()));
  words[0] = unprefixed(words[0]);
  PerftestNumbers numbers;
  numbers.unit = unit_;
  numbers.line = line.number;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto number = number_of(words[i]);
    if (!number) return;
    if (columns_[i] == Column::kSize) {
      const auto size = integer_of(words[i]);
      if (!size) return;
      numbers.size_bytes = *size;
    }
    if (columns_[i] == Column::kBandwidth) numbers.bandwidth = number;
    if (columns_[i] == Column::kRate) numbers.mega_rate = number;
    if (columns_[i] == Column::kMin) numbers.min_us = number;
    if (columns_[i] == Column::kTypical) numbers.typical_us = number;
    if (columns_[i] == Column::kAverage) numbers.average_us = number;
    if (columns_[i] == Column::kP99) numbers.p99_us = number;
  }
  // The last number of a line that the log ends within may lack digits.
  if (!line.ended && (columns_.back() == Column::kAverage || columns_.back() == Column::kTypical ||
                      columns_.back() == Column::kBandwidth)) {
    return;
  }
  const auto unit = line.ended ? unit_by_rate(numbers) : std::nullopt;
  if (unit && *unit != unit_ && disagreeing_ == 0) disagreeing_ = line.number;
  const auto row = perftest_row(*test_, numbers);
  if (!row) return;
  if (rows_.size() >= kMaxRows) {
    ++over_;
    return;
  }
  rows_.push_back(*row);
}

void PerftestLog::finish(ComparedRun& run) {
  if (!seen()) return;
  if (rows_.empty() && server_) {
    run.why_empty =
        "it is the output of a perftest server, which prints no numbers for this test; the "
        "client's has them";
  }
  if (!test_) return;
  facts_.test = test_->title;
  facts_.bidirectional = test_->bidirectional;
  if (!rows_.empty()) add_perftest_notes(*test_, run);
  if (disagreeing_ > 0) {
    notes_.push_back(fmt::format(
        "line {}: bandwidth and message rate do not agree in the unit that the header names",
        disagreeing_));
  }
  if (frequency_ > 0 && test_->latency) {
    notes_.push_back(fmt::format(
        "line {}: CPU frequencies change, by which perftest counts its times", frequency_));
  }
  if (over_ > 0) {
    notes_.push_back(fmt::format("{} rows beyond the first {} are left out", over_, kMaxRows));
  }
  run.rows.insert(run.rows.end(), rows_.begin(), rows_.end());
  run.notes.insert(run.notes.end(), notes_.begin(), notes_.end());
  run.perftest = facts_;
}

}  // namespace gradhaul

#include "analysis/perftest_row.h"

#include <algorithm>

namespace gradhaul {
namespace {

constexpr double kMebibyte = 1024.0 * 1024.0;
constexpr double kGigabit = 1e9 / 8;  // bytes

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

std::optional<PerftestTest> perftest_test(std::string_view title) {
  PerftestTest test;
  test.title = title.substr(0, 80);
  // In JSON the words are joined.
  std::string words = test.title;
  std::replace(words.begin(), words.end(), '_', ' ');
  const bool bandwidth = contains(words, " BW ");
  test.latency = contains(words, " Latency ");
  if (!words.ends_with("Test") || bandwidth == test.latency) return std::nullopt;
  test.bidirectional = contains(test.title, "Bidirectional");
  test.atomic = contains(test.title, "Atomic");
  test.reads = test.atomic || contains(test.title, "Read");
  return test;
}

std::optional<PerftestUnit> unit_by_rate(const PerftestNumbers& numbers) {
  if (!numbers.bandwidth || !numbers.mega_rate || *numbers.mega_rate < 2e-5) return std::nullopt;
  const double bytes = *numbers.mega_rate * 1e6 * static_cast<double>(numbers.size_bytes);
  const auto fits = [&](double unit) {
    const double off = *numbers.bandwidth * unit / bytes;
    return off > 0.9 && off < 1.1;
  };
  if (fits(kMebibyte)) return PerftestUnit::kMebibytes;
  if (fits(kGigabit)) return PerftestUnit::kGigabits;
  return std::nullopt;
}

std::optional<ComparedRow> perftest_row(const PerftestTest& test, const PerftestNumbers& numbers) {
  ComparedRow row;
  row.collective = "send_recv";
  row.ranks = 2;
  row.size_bytes = numbers.size_bytes;
  row.line = numbers.line;
  row.min_us = numbers.min_us;
  row.p99_us = numbers.p99_us;
  if (numbers.size_bytes <= 0) return std::nullopt;
  const auto size = static_cast<double>(numbers.size_bytes);
  if (test.latency) {
    // The median where there is one: a prediction knows no jitter.
    const auto time = numbers.typical_us ? numbers.typical_us : numbers.average_us;
    if (!time) return std::nullopt;
    row.p50_us = numbers.typical_us;
    row.time_us = *time;
    row.without_kernels = true;
  } else {
    if (!numbers.bandwidth || *numbers.bandwidth <= 0) return std::nullopt;
    if (numbers.unit == PerftestUnit::kUnknown) return std::nullopt;
    const double unit = numbers.unit == PerftestUnit::kMebibytes ? kMebibyte : kGigabit;
    const double bytes_per_second = *numbers.bandwidth * unit / (test.bidirectional ? 2 : 1);
    row.time_us = size / bytes_per_second * 1e6;
    row.streamed = true;
  }
  if (!is_plausible_time(row.time_us)) return std::nullopt;
  row.algbw_GBps = size / row.time_us / 1e3;
  row.busbw_GBps = row.algbw_GBps;

  return row;
}

void add_perftest_notes(const PerftestTest& test, ComparedRun& run) {
  if (test.bidirectional) {
    run.notes.emplace_back(
        "a bidirectional test (-b) sums both directions: half of its bandwidth is compared");
  } else if (!test.latency) {
    run.notes.emplace_back(
        "one way only, while the two predicted ranks send to each other at once; wires carry both "
        "ways, what both share (memory, reduce kernels) may not");
  }
  if (test.latency) {
    run.notes.emplace_back(
        "perftest's latency is one way, half the round trip, and knows no kernels: from the "
        "predicted time what its critical path spends on launches, flags and copies of kernels is "
        "taken off");
  } else {
    run.notes.emplace_back(
        "a bandwidth test keeps many messages on the way: its time is the interval between them, "
        "and hides latency; being faster than one predicted message says nothing where that can "
        "be the reason");
  }
}

}  // namespace gradhaul

#pragma once

// What perftest's numbers mean (its src/perftest_parameters.c): a bandwidth in MiB/s (2^20, printed
// as "MB/sec", later "MiB/sec") or, with --report_gbits, in Gb/s (10^9); the sum of both directions
// with -b; a latency of one way (half the round trip), but of the whole round trip where data is
// read.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/compared_run.h"

namespace gradhaul {

enum class PerftestUnit : std::uint8_t { kUnknown, kMebibytes, kGigabits };

struct PerftestTest {
  std::string title;  // "RDMA_Write Bidirectional BW Test"
  bool latency = false;
  bool bidirectional = false;
  bool reads = false;  // ib_read_*, or an atomic operation: answers carry the data
  bool atomic = false;
};

// "RDMA_Write BW Test", "Send_Bidirectional_BW_Test"; nothing where the text names no test.
std::optional<PerftestTest> perftest_test(std::string_view title);

struct PerftestNumbers {
  std::int64_t size_bytes = 0;
  std::optional<double> bandwidth;   // average, in `unit`
  std::optional<double> mega_rate;   // messages, millions a second
  std::optional<double> average_us;  // a latency's
  std::optional<double> typical_us;
  std::optional<double> min_us;
  std::optional<double> p99_us;
  PerftestUnit unit = PerftestUnit::kUnknown;
  std::int64_t line = 0;
};

// The unit that makes bandwidth and message rate agree; nothing where neither does, or the rate has
// too few digits.
std::optional<PerftestUnit> unit_by_rate(const PerftestNumbers& numbers);

// One direction's row: send_recv of two ranks. Nothing where the numbers give none.
std::optional<ComparedRow> perftest_row(const PerftestTest& test, const PerftestNumbers& numbers);

// What a reader of the comparison has to know of such a test.
void add_perftest_notes(const PerftestTest& test, ComparedRun& run);

}  // namespace gradhaul

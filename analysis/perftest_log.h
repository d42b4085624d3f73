#pragma once

// What ib_write_bw, ib_write_lat, ib_send_*, ib_read_* print (perftest 4.x to 24.x, src/
// perftest_parameters.h): the set-up, then rows under a header that names columns and units; -a,
// -D, --run_infinitely (the same size again and again), -b, --report_gbits, -q, ports apart,
// CPU use. Lines come one at a time; memory is for the rows.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/compared_run.h"
#include "analysis/log_lines.h"
#include "analysis/perftest_row.h"

namespace gradhaul {

class PerftestLog {
 public:
  void read(const LogLine& line);
  void finish(ComparedRun& run);
  bool seen() const { return test_ || !columns_.empty(); }

 private:
  enum class Column : std::uint8_t {
    kSize,
    kBandwidth,
    kRate,
    kMin,
    kTypical,
    kAverage,
    kP99,
    kOther
  };

  void read_setup(std::string_view text, std::int64_t line);
  bool read_header(const LogLine& line);
  void read_row(const LogLine& line);

  std::optional<PerftestTest> test_;
  PerftestFacts facts_;
  std::vector<Column> columns_;
  PerftestUnit unit_ = PerftestUnit::kUnknown;
  std::vector<ComparedRow> rows_;
  std::vector<std::string> notes_;
  std::int64_t over_ = 0;
  bool server_ = false;
  std::int64_t disagreeing_ = 0;  // the first line whose message rate says another unit
  std::int64_t frequency_ = 0;    // the first line on CPU frequencies that change
};

}  // namespace gradhaul

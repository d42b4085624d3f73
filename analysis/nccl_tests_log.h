#pragma once

// What nccl-tests prints (its src/common.cu and src/util.cu; src/*.cu before 2.14): all its tests,
// with and without the columns redop and root, `#wrong` or `error`, -I (per iteration), -S
// (timestamps), -C (cputime); several tests one after the other; before, behind and amid rows what
// launchers and NCCL_DEBUG=INFO put there. Lines come one at a time; memory is for the rows.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/compared_run.h"
#include "analysis/log_lines.h"

namespace gradhaul {

class NcclTestsLog {
 public:
  void read(const LogLine& line);

  // At the end of the log: adds to the run what was read. Nothing where no table began.
  void finish(ComparedRun& run);
  // Whether anything of nccl-tests was seen.
  bool seen() const { return seen_; }

 private:
  // Where the columns of one half stand, counted from its first.
  struct Layout {
    bool root = true;
    std::size_t half = 4;  // columns of a half: time algbw busbw #wrong, and more with -I
    std::optional<std::size_t> min_at;
    std::optional<std::size_t> p99_at;
    bool both = true;  // out of place and in place
  };
  // A row whose numbers are still coming.
  struct Pending {
    ComparedRow row;
    bool has_root = false;
    std::vector<std::optional<double>> numbers;  // nothing: N/A
    std::int64_t line = 0;
  };

  void read_heads(const LogLine& line, const std::vector<std::string_view>& words);
  void read_header(const std::vector<std::string_view>& words);
  bool read_row(const LogLine& line, const std::vector<std::string_view>& words);
  bool continue_row(const std::vector<std::string_view>& words);
  void begin_row(const std::vector<std::string_view>& words, std::size_t at, std::int64_t line);
  // False where a word does not belong to the row.
  bool add_number(std::string_view word);
  bool guess_layout(std::size_t numbers);
  void emit_pending();
  void emit_half(std::size_t half);
  std::size_t expected() const;

  std::optional<Layout> layout_;
  Layout guessed_;
  std::optional<Pending> pending_;
  std::string collective_;
  std::optional<int> ranks_;
  int lone_jobs_ = 0;  // headers that list one rank
  bool seen_ = false;
  bool cpu_time_ = false;
  bool graph_ = false;
  std::int64_t strange_ = 0;  // the line of the first whose time and bandwidth do not agree
  std::int64_t over_ = 0;     // rows beyond kMaxRows
  std::vector<ComparedRow> rows_;
  std::vector<std::string> notes_;
};

}  // namespace gradhaul

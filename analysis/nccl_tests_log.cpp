#include "analysis/nccl_tests_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "analysis/nccl_names.h"

namespace gradhaul {
namespace {

constexpr std::int64_t kMostRanks = 1 << 20;

// What launchers glue to the first word: "[1,0]<stdout>:1048576", "0:1048576".
std::string_view unprefixed(std::string_view word) {
  const std::size_t mark = word.find_last_of(":>|]");
  return mark == std::string_view::npos ? word : word.substr(mark + 1);
}

// The text without what NCCL_DEBUG wrote into it: "host:123:456 [0] NCCL INFO …".
std::string_view without_nccl(std::string_view text) {
  for (const std::string_view level :
       {" NCCL INFO ", " NCCL WARN ", " NCCL TRACE ", " NCCL VERSION "}) {
    std::size_t at = text.find(level);
    if (at == std::string_view::npos) continue;
    // Back over "[0]" and "host:123:456"; a number of the row may be glued to the host.
    const auto back = [&](std::size_t from) {
      const std::size_t space = text.find_last_of(" \t", from);
      return space == std::string_view::npos ? 0 : space + 1;
    };
    at = back(at == 0 ? 0 : at - 1);
    if (text.substr(at).starts_with('[') && at > 1) at = back(at - 2);
    const bool glued = text.substr(at).starts_with("-1");
    return text.substr(0, glued ? at + 2 : at);
  }
  return text;
}

bool is_not_checked(std::string_view word) { return word == "N/A"; }

bool has_word(const std::vector<std::string_view>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// A printed time with an exponent has two digits; what it is divided by has three or more.
double exact_time(double time, double algbw, std::int64_t size) {
  if (time < 1e7 || algbw < 1) return time;
  return static_cast<double>(size) / algbw / 1e3;
}

// Columns that were torn, or taken for others, show in this.
bool agree(double time, double algbw, std::int64_t size) {
  const double expected = static_cast<double>(size) / time / 1e3;
  return std::abs(algbw - expected) <= 0.06 * expected + 0.011;
}

}  // namespace

void NcclTestsLog::read(const LogLine& line) {
  const std::string_view text = without_nccl(line.text);
  const bool interrupted = text.size() != line.text.size();
  const std::vector<std::string_view> words = words_of(text);
  if (words.empty()) return;
  if (read_row({line.number, text, line.ended}, words)) return;
  if (!interrupted) read_heads(line, words);
}

void NcclTestsLog::read_heads(const LogLine& line, const std::vector<std::string_view>& words) {
  const std::string_view text = line.text;
  if (has_word(words, "size") && has_word(words, "algbw") && has_word(words, "busbw")) {
    emit_pending();
    read_header(words);
    seen_ = true;
    return;
  }
  // "#  Rank  0 Group  0 Pid   1234 on  host device  0 …", without "Group" before 2.13.
  const std::size_t rank = text.find("Rank ");
  if (rank != std::string_view::npos && text.find(" Pid ") != std::string_view::npos) {
    const auto number = integer_after(text.substr(rank), "Rank");
    if (number && *number >= 0 && *number < kMostRanks) {
      // A list that begins anew is another process', or another run's.
      if (*number == 0) lone_jobs_ += ranks_ && *ranks_ == 1 ? 1 : 0;
      ranks_ = *number == 0 ? 1 : std::max(ranks_.value_or(0), static_cast<int>(*number) + 1);
    }
    seen_ = true;
    return;
  }
  if (const auto graph = integer_after(text, " graph:"); graph && *graph > 0) graph_ = true;
  for (const std::string_view word : words) {
    const std::size_t slash = word.find_last_of("/\\");
    const auto named =
        collective_of_program(slash == std::string_view::npos ? word : word.substr(slash + 1));
    if (!named) continue;
    emit_pending();
    if (text.find("concluded") == std::string_view::npos) collective_ = *named;
    return;
  }
}

void NcclTestsLog::read_header(const std::vector<std::string_view>& words) {
  Layout layout;
  const auto type = std::find(words.begin(), words.end(), "type");
  layout.root = std::find(type, words.end(), "root") != words.end();
  const auto is_time = [](std::string_view word) { return word == "time" || word == "cputime"; };
  const auto first = std::find_if(type, words.end(), is_time);
  if (first == words.end()) return;
  cpu_time_ = cpu_time_ || *first == "cputime";
  const auto second = std::find_if(first + 1, words.end(), is_time);
  layout.both = second != words.end();
  layout.half = layout.both ? static_cast<std::size_t>(second - first) : 4;
  for (std::size_t i = 0; i < layout.half && first + static_cast<std::ptrdiff_t>(i) < words.end();
       ++i) {
    const std::string_view name = *(first + static_cast<std::ptrdiff_t>(i));
    if (name == "i_min") layout.min_at = i;
    if (name == "i_p99") layout.p99_at = i;
  }
  if (layout.half < 4 || layout.half > 16) return;
  layout_ = layout;
}

bool NcclTestsLog::read_row(const LogLine& line, const std::vector<std::string_view>& words) {
  for (std::size_t i = 0; i + 2 < words.size(); ++i) {
    const auto size = integer_of(i == 0 ? unprefixed(words[i]) : words[i]);
    if (!size || *size < 0) continue;
    if (!integer_of(words[i + 1]) || !datatype_of_nccl(words[i + 2])) continue;
    emit_pending();
    begin_row(words, i, line.number);
    return true;
  }
  return pending_ && continue_row(words);
}

// The rest of a row that something was written into: so many numbers that a half is whole, behind
// the labels of a launcher.
bool NcclTestsLog::continue_row(const std::vector<std::string_view>& words) {
  constexpr std::size_t kMostLabels = 8;
  const std::size_t have = pending_->numbers.size();
  const std::size_t half = (layout_ ? *layout_ : guessed_).half;
  for (const std::size_t whole : {expected(), half}) {
    if (whole <= have || words.size() < whole - have) continue;
    const std::size_t first = words.size() - (whole - have);
    if (first > kMostLabels) continue;
    std::vector<std::string_view> numbers(words.begin() + static_cast<std::ptrdiff_t>(first),
                                          words.end());
    numbers[0] = unprefixed(numbers[0]);
    const bool all = std::all_of(numbers.begin(), numbers.end(), [](std::string_view word) {
      return number_of(word) || is_not_checked(word);
    });
    if (!all) continue;
    for (const std::string_view word : numbers) {
      if (pending_) add_number(word);
    }
    return true;
  }
  return false;
}

void NcclTestsLog::begin_row(const std::vector<std::string_view>& words, std::size_t at,
                             std::int64_t line) {
  seen_ = true;
  Pending pending;
  pending.line = line;
  pending.row.size_bytes = *integer_of(at == 0 ? unprefixed(words[at]) : words[at]);
  pending.row.datatype = *datatype_of_nccl(words[at + 2]);
  std::size_t next = at + 3;
  if (next < words.size() && is_reduction(words[next])) {
    if (words[next] != "none") pending.row.reduction = words[next];
    ++next;
  }
  pending_ = std::move(pending);
  // Without a header, the number of columns of a whole row tells which they are.
  std::size_t numbers = 0;
  while (next + numbers < words.size() &&
         (number_of(words[next + numbers]) || is_not_checked(words[next + numbers]))) {
    ++numbers;
  }
  if (!layout_ && !guess_layout(numbers)) {
    pending_.reset();
    return;
  }
  for (std::size_t i = 0; i < numbers && pending_; ++i) add_number(words[next + i]);
}

// 9 or 17 columns: with the root; 8 or 16: without.
bool NcclTestsLog::guess_layout(std::size_t numbers) {
  if (numbers != 8 && numbers != 9 && numbers != 16 && numbers != 17) return false;
  guessed_ = {};
  guessed_.root = numbers % 2 == 1;
  guessed_.half = numbers / 2;
  if (guessed_.half == 8) {
    guessed_.min_at = 4;
    guessed_.p99_at = 6;
  }
  return true;
}

std::size_t NcclTestsLog::expected() const {
  const Layout& layout = layout_ ? *layout_ : guessed_;
  return layout.half * (layout.both ? 2 : 1);
}

bool NcclTestsLog::add_number(std::string_view word) {
  const Layout& layout = layout_ ? *layout_ : guessed_;
  if (layout.root && !pending_->has_root) {
    pending_->has_root = true;
    if (integer_of(word)) return true;
    pending_.reset();  // what stands where the root should is none
    return false;
  }
  pending_->numbers.push_back(number_of(word));
  if (pending_->numbers.size() == expected()) emit_pending();
  return true;
}

void NcclTestsLog::emit_pending() {
  if (!pending_) return;
  const Layout layout = layout_ ? *layout_ : guessed_;
  const std::size_t halves = layout.both ? 2 : 1;
  for (std::size_t half = 0; half < halves; ++half) {
    if (pending_->numbers.size() >= (half + 1) * layout.half) emit_half(half);
  }
  pending_.reset();
}

void NcclTestsLog::emit_half(std::size_t half) {
  const Layout& layout = layout_ ? *layout_ : guessed_;
  const auto number = [&](std::size_t at) { return pending_->numbers[half * layout.half + at]; };
  const auto time = number(0);
  const auto algbw = number(1);
  const auto busbw = number(2);
  if (!time || !algbw || !busbw || *algbw < 0 || *busbw < 0) return;
  if (!is_plausible_time(*time)) return;
  if (!agree(*time, *algbw, pending_->row.size_bytes)) {
    if (strange_ == 0) strange_ = pending_->line;
    return;
  }
  if (rows_.size() >= kMaxRows) {
    ++over_;
    return;
  }
  ComparedRow row = pending_->row;
  row.collective = collective_;
  row.ranks = ranks_;
  row.time_us = exact_time(*time, *algbw, row.size_bytes);
  row.algbw_GBps = static_cast<double>(row.size_bytes) / row.time_us / 1e3;
  // Where it has digits enough to say what multiple of algbw it is.
  if (*algbw >= 10) row.busbw_GBps = *busbw / *algbw * row.algbw_GBps;
  row.in_place = half == 1;
  row.wrong = number(3);
  if (layout.min_at) row.min_us = number(*layout.min_at);
  if (layout.p99_at) row.p99_us = number(*layout.p99_at);
  row.line = pending_->line;
  rows_.push_back(std::move(row));
}

void NcclTestsLog::finish(ComparedRun& run) {
  emit_pending();
  if (cpu_time_) {
    notes_.emplace_back(
        "the times are CPU times of the calling thread (-C), not those of the collective");
  }
  if (graph_) notes_.emplace_back("measured with CUDA graphs (-G), whose launches cost less");
  if (lone_jobs_ > 0) {
    notes_.push_back(
        fmt::format("{} processes list a rank 0 alone: nccl-tests was built without MPI=1, and "
                    "each of them ran by itself",
                    lone_jobs_ + 1));
  }
  if (strange_ > 0) {
    notes_.push_back(
        fmt::format("rows whose size, time and algbw do not agree are left out, that "
                    "of line {} first",
                    strange_));
  }
  if (over_ > 0) {
    notes_.push_back(fmt::format("{} rows beyond the first {} are left out", over_, kMaxRows));
  }
  run.rows.insert(run.rows.end(), rows_.begin(), rows_.end());
  run.notes.insert(run.notes.end(), notes_.begin(), notes_.end());
}

}  // namespace gradhaul

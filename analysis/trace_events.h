#pragma once

// Writes events of the Trace Event Format one by one, each on a line of its own.

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/write_file_whole.h"

namespace gradhaul {

class TraceEvents {
 public:
  // `head`: members of the whole object that come before the events, without braces.
  TraceEvents(WholeFile& file, std::string_view head);

  void name_process(std::int64_t pid, const std::string& name, std::int64_t order);
  // A thread of its own, with a number of its own.
  std::int64_t add_thread(std::int64_t pid, const std::string& name, std::int64_t order);
  // `args`: members of an object, without braces. Times in ps.
  void slice(std::int64_t pid, std::int64_t tid, std::string_view category, std::string_view name,
             std::int64_t start, std::int64_t end, std::string_view args);
  void counter(std::int64_t pid, std::string_view name, std::int64_t time, std::string_view args);
  // An arrow from a slice that begins at `time` to another one that does.
  void arrow_start(std::int64_t pid, std::int64_t tid, std::int64_t id, std::int64_t time);
  void arrow_end(std::int64_t pid, std::int64_t tid, std::int64_t id, std::int64_t time);
  void finish();

  std::int64_t count() const { return count_; }

 private:
  void begin();
  void write_out_beyond(std::size_t size);

  WholeFile& file_;
  fmt::memory_buffer text_;
  std::int64_t count_ = 0;
  std::int64_t threads_ = 0;
};

// In microseconds, to the ps: "12.000345".
std::string trace_time(std::int64_t ps);

}  // namespace gradhaul

#include "analysis/trace_events.h"

#include <iterator>
#include <nlohmann/json.hpp>

namespace gradhaul {
namespace {

constexpr std::size_t kChunk = 1 << 20;
constexpr std::int64_t kPsPerMicrosecond = 1'000'000;
// Numbers of threads are no process's number: a thread with that is taken for its main thread.
constexpr std::int64_t kFirstThread = 1'000'000;

std::string quoted(const std::string& text) { return nlohmann::json(text).dump(); }

// Within fmt::format: "{}.{:06}".
struct Microseconds {
  std::int64_t whole;
  std::int64_t part;
};

Microseconds microseconds(std::int64_t ps) {
  return {ps / kPsPerMicrosecond, ps % kPsPerMicrosecond};
}

}  // namespace

std::string trace_time(std::int64_t ps) {
  const Microseconds time = microseconds(ps);
  return fmt::format("{}.{:06}", time.whole, time.part);
}

TraceEvents::TraceEvents(WholeFile& file, std::string_view head) : file_(file) {
  fmt::format_to(std::back_inserter(text_), "{{{},\n\"traceEvents\": [", head);
}

void TraceEvents::begin() {
  write_out_beyond(kChunk);
  fmt::format_to(std::back_inserter(text_), "{}\n", count_ == 0 ? "" : ",");
  ++count_;
}

void TraceEvents::write_out_beyond(std::size_t size) {
  if (text_.size() <= size) return;
  file_.write({text_.data(), text_.size()});
  text_.clear();
}

void TraceEvents::name_process(std::int64_t pid, const std::string& name, std::int64_t order) {
  begin();
  fmt::format_to(std::back_inserter(text_),
                 R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":{}}}}})", pid,
                 quoted(name));
  begin();
  fmt::format_to(std::back_inserter(text_),
                 R"({{"ph":"M","pid":{},"name":"process_sort_index","args":{{"sort_index":{}}}}})",
                 pid, order);
}

std::int64_t TraceEvents::add_thread(std::int64_t pid, const std::string& name,
                                     std::int64_t order) {
  const std::int64_t tid = kFirstThread + ++threads_;
  begin();
  fmt::format_to(std::back_inserter(text_),
                 R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":{}}}}})", pid,
                 tid, quoted(name));
  begin();
  fmt::format_to(
      std::back_inserter(text_),
      R"({{"ph":"M","pid":{},"tid":{},"name":"thread_sort_index","args":{{"sort_index":{}}}}})",
      pid, tid, order);
  return tid;
}

void TraceEvents::slice(std::int64_t pid, std::int64_t tid, std::string_view category,
                        std::string_view name, std::int64_t start, std::int64_t end,
                        std::string_view args) {
  begin();
  const Microseconds at = microseconds(start);
  const Microseconds lasts = microseconds(end - start);
  fmt::format_to(
      std::back_inserter(text_),
      R"({{"ph":"X","pid":{},"tid":{},"ts":{}.{:06},"dur":{}.{:06},"cat":"{}","name":"{}",)"
      R"("args":{{{}}}}})",
      pid, tid, at.whole, at.part, lasts.whole, lasts.part, category, name, args);
}

void TraceEvents::counter(std::int64_t pid, std::string_view name, std::int64_t time,
                          std::string_view args) {
  begin();
  const Microseconds at = microseconds(time);
  fmt::format_to(std::back_inserter(text_),
                 R"({{"ph":"C","pid":{},"ts":{}.{:06},"name":"{}","args":{{{}}}}})", pid, at.whole,
                 at.part, name, args);
}

void TraceEvents::arrow_start(std::int64_t pid, std::int64_t tid, std::int64_t id,
                              std::int64_t time) {
  begin();
  const Microseconds at = microseconds(time);
  fmt::format_to(
      std::back_inserter(text_),
      R"({{"ph":"s","pid":{},"tid":{},"ts":{}.{:06},"id":{},"cat":"slice","name":"slice"}})", pid,
      tid, at.whole, at.part, id);
}

void TraceEvents::arrow_end(std::int64_t pid, std::int64_t tid, std::int64_t id,
                            std::int64_t time) {
  begin();
  const Microseconds at = microseconds(time);
  fmt::format_to(std::back_inserter(text_),
                 R"({{"ph":"f","bp":"e","pid":{},"tid":{},"ts":{}.{:06},"id":{},"cat":"slice",)"
                 R"("name":"slice"}})",
                 pid, tid, at.whole, at.part, id);
}

void TraceEvents::finish() {
  fmt::format_to(std::back_inserter(text_), "\n]}}\n");
  write_out_beyond(0);
}

}  // namespace gradhaul

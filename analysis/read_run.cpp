#include "analysis/read_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "analysis/input_error.h"
#include "analysis/json_text.h"
#include "analysis/ladder_file.h"
#include "analysis/log_lines.h"
#include "analysis/nccl_debug_log.h"
#include "analysis/nccl_tests_json.h"
#include "analysis/nccl_tests_log.h"
#include "analysis/perftest_json.h"
#include "analysis/perftest_log.h"
#include "analysis/result_file.h"

namespace gradhaul {
namespace {

constexpr std::size_t kBeginning = 64 * 1024;
constexpr std::size_t kLargestJson = 256 * 1024 * 1024;
constexpr const char* kKnown =
    "a result file of gradhaul, the output of nccl-tests or its -J file, the output of perftest "
    "(ib_write_bw, ib_write_lat, …) or its --out_json file, or a log of NCCL_DEBUG=INFO";

void append(std::istream& stream, std::size_t bytes, std::string& text) {
  const std::size_t before = text.size();
  text.resize(before + bytes);
  stream.read(text.data() + before, static_cast<std::streamsize>(bytes));
  text.resize(before + static_cast<std::size_t>(stream.gcount()));
}

bool begins_json(const std::string& text) {
  std::size_t at = text.starts_with("\xef\xbb\xbf") ? 3 : 0;
  at = text.find_first_not_of(" \t\r\n", at);
  return at != std::string::npos && text[at] == '{';
}

ComparedRun read_json(std::istream& stream, std::string text, const std::string& source) {
  while (stream && text.size() <= kLargestJson) append(stream, kBeginning * 16, text);
  if (text.size() > kLargestJson) {
    throw InputError({source, 1, 1}, "it begins as JSON does, and is larger than 256 MiB");
  }
  if (is_perftest_json(text)) return read_perftest_json(text, source);
  const nlohmann::json json =
      parse_json_text(text, source, {"times_us", "per_process_max_times_us"});
  if (is_result_file(json)) return read_result_file(json, source);
  if (is_nccl_tests_json(json)) return read_nccl_tests_json(json, source);
  if (is_ladder_json(json)) {
    throw InputError({source, 1, 1},
                     "it is a ladder (--ladder), which only another ladder stands beside; name "
                     "two files");
  }
  throw InputError({source, 1, 1},
                   fmt::format("it is JSON, but none that is known here; expected {}", kKnown));
}

std::string format_of(const NcclTestsLog& tests, const PerftestLog& perftest,
                      const NcclFacts& nccl) {
  std::string format;
  if (tests.seen()) format = "nccl-tests log";
  if (perftest.seen()) format += format.empty() ? "perftest output" : " with perftest output";
  if (nccl.lines > 0) format += format.empty() ? "NCCL log" : " with NCCL_DEBUG";
  return format;
}

ComparedRun read_log(std::istream& stream, std::string begun, const std::string& source) {
  NcclTestsLog tests;
  PerftestLog perftest;
  NcclDebugLog nccl;
  LogLines lines(stream, std::move(begun));
  ComparedRun run;
  run.source = source;
  while (const std::optional<LogLine> line = lines.next()) {
    tests.read(*line);
    perftest.read(*line);
    nccl.read(*line);
    run.lines = line->number;
  }
  tests.finish(run);
  perftest.finish(run);
  run.nccl = nccl.facts();
  run.format = format_of(tests, perftest, run.nccl);
  if (run.format.empty()) {
    throw InputError({source, std::max<std::int64_t>(run.lines, 1), 1},
                     fmt::format("{} line{} read, and nothing known found in them; expected {}",
                                 run.lines, run.lines == 1 ? "" : "s", kKnown));
  }
  if (!run.rows.empty()) {
    run.name = run.perftest ? run.perftest->test : run.rows.front().collective;
  } else if (run.why_empty.empty()) {
    run.why_empty =
        fmt::format("{} lines ({}) hold no finished row of a table", run.lines, run.format);
  }
  return run;
}

}  // namespace

ComparedRun read_run(std::istream& stream, const std::string& source) {
  std::string beginning;
  append(stream, kBeginning, beginning);
  if (beginning.empty()) {
    throw InputError({source, 1, 1}, fmt::format("it is empty; expected {}", kKnown));
  }
  if (begins_json(beginning)) return read_json(stream, std::move(beginning), source);
  return read_log(stream, std::move(beginning), source);
}

ComparedRun read_run_file(const std::string& path) {
  if (path == "-") return read_run(std::cin, "standard input");
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    throw InputError({path}, fmt::format("it is a folder; expected {}", kKnown));
  }
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw InputError({path}, fmt::format("cannot be read: {}", std::strerror(errno)));
  return read_run(stream, path);
}

}  // namespace gradhaul

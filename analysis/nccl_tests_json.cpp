#include "analysis/nccl_tests_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "analysis/input_error.h"
#include "analysis/json_text.h"
#include "analysis/log_lines.h"
#include "analysis/nccl_names.h"

namespace gradhaul {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kMostRanks = 1 << 20;

// The collective is the name of the program: args[0].
std::string collective_of(const Json& json) {
  const Json& arguments = member(json, "args");
  if (!arguments.is_array()) return "";
  for (const Json& argument : arguments) {
    const std::string word = text_of(argument);
    const std::size_t slash = word.find_last_of("/\\");
    const auto named =
        collective_of_program(slash == std::string::npos ? word : word.substr(slash + 1));
    if (named) return *named;
  }
  return "";
}

std::optional<int> ranks_of(const Json& json) {
  // In `config` as src/util.cu nests it; at the top where somebody flattened it.
  const Json& nested = member(member(json, "config"), "devices");
  const Json& devices = nested.is_array() ? nested : member(json, "devices");
  if (!devices.is_array()) return std::nullopt;
  std::int64_t ranks = 0;
  for (const Json& device : devices) {
    const auto rank = whole_of(member(device, "rank"));
    if (rank && *rank >= 0 && *rank < kMostRanks) ranks = std::max(ranks, *rank + 1);
  }
  if (ranks == 0) return std::nullopt;
  return static_cast<int>(ranks);
}

void take_choice(const Json& tuning, ComparedRow& row) {
  if (!tuning.is_object()) return;
  row.algorithm = algorithm_of_nccl(text_of(member(tuning, "algo")));
  row.protocol = protocol_of_nccl(text_of(member(tuning, "proto")));
  const auto channels = whole_of(member(tuning, "#channels"));
  if (channels && *channels > 0 && *channels < kMostRanks) {
    row.channels = static_cast<int>(*channels);
  }
}

void add_half(const Json& result, bool in_place, const ComparedRow& base, ComparedRun& run) {
  const Json& half = member(result, in_place ? "in_place" : "out_of_place");
  auto time = real_of(member(half, "time"));
  if (!time) time = real_of(member(half, "cpu_time"));
  if (!time || !is_plausible_time(*time) || run.rows.size() >= kMaxRows) return;
  ComparedRow row = base;
  row.in_place = in_place;
  row.time_us = *time;
  row.algbw_GBps = static_cast<double>(row.size_bytes) / *time / 1e3;
  row.busbw_GBps = real_of(member(half, "bus_bw"));
  row.wrong = real_of(member(half, "nwrong"));
  const Json& statistics = member(result, in_place ? "in_place_per_iter" : "out_of_place_per_iter");
  row.min_us = real_of(member(statistics, "min_us"));
  row.p50_us = real_of(member(statistics, "p50_us"));
  row.p99_us = real_of(member(statistics, "p99_us"));
  run.rows.push_back(std::move(row));
}

bool has_cpu_time(const Json& result) {
  return !member(member(result, "out_of_place"), "cpu_time").is_null() ||
         !member(member(result, "in_place"), "cpu_time").is_null();
}

void take_version(const Json& json, ComparedRun& run) {
  const auto version = whole_of(member(json, "nccl_version"));
  if (!version || *version < 1000 || *version > 999'999) return;
  // NCCL_VERSION_CODE: from 2.9 on major * 10000 + minor * 100 + patch, with major * 1000 before.
  const std::int64_t major = *version >= 10000 ? *version / 10000 : *version / 1000;
  const std::int64_t rest = *version - major * (*version >= 10000 ? 10000 : 1000);
  run.nccl.version =
      Seen<std::string>{fmt::format("NCCL {}.{}.{}", major, rest / 100, rest % 100), 1};
}

}  // namespace

bool is_nccl_tests_json(const Json& json) {
  return member(json, "results").is_array() &&
         (!member(json, "nccl_version").is_null() || !member(json, "config").is_null() ||
          !member(json, "args").is_null());
}

ComparedRun read_nccl_tests_json(const Json& json, const std::string& source) {
  ComparedRun run;
  run.source = source;
  run.format = "nccl-tests JSON";
  take_version(json, run);
  ComparedRow base;
  base.collective = collective_of(json);
  run.name = base.collective;
  base.ranks = ranks_of(json);
  bool cpu_time = false;
  std::size_t index = 0;
  for (const Json& result : member(json, "results")) {
    ComparedRow row = base;
    const auto size = whole_of(member(result, "size"));
    if (!size || *size < 0) {
      throw InputError({source, 1, 1}, fmt::format("results[{}].size is no whole number of bytes, "
                                                   "as nccl-tests writes it",
                                                   index));
    }
    row.size_bytes = *size;
    row.datatype = datatype_of_nccl(text_of(member(result, "type"))).value_or("");
    const std::string reduction = text_of(member(result, "redop"));
    if (reduction != "none") row.reduction = reduction;
    take_choice(member(result, "tuning"), row);
    add_half(result, false, row, run);
    add_half(result, true, row, run);
    cpu_time = cpu_time || has_cpu_time(result);
    ++index;
  }
  if (cpu_time) {
    run.notes.emplace_back(
        "the times are CPU times of the calling thread (-C), not those of the collective");
  }
  const auto graph = whole_of(member(member(json, "config"), "graph"));
  if (graph && *graph > 0) {
    run.notes.emplace_back("measured with CUDA graphs (-G), whose launches cost less");
  }
  if (run.rows.empty()) run.why_empty = "it holds no finished results";
  return run;
}

}  // namespace gradhaul

#pragma once

// One side of a comparison, wherever it was read from: rows of sizes and times, and what the source
// says of how they came about. What a source does not say is left open, never guessed.

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"

namespace gradhaul {

struct ComparedRow {
  std::string collective;  // names of result files ("all_reduce"); empty: not said
  std::string algorithm;
  std::string protocol;
  std::string profile;  // of gradhaul's own results
  std::string datatype;
  std::string reduction;
  std::optional<int> channels;
  std::optional<int> ranks;
  std::int64_t size_bytes = 0;
  double time_us = 0;
  double algbw_GBps = 0;
  std::optional<double> busbw_GBps;
  std::optional<bool> in_place;
  std::optional<double> wrong;  // elements, or the greatest error of nccl-tests before 2.13
  std::optional<double> min_us;
  std::optional<double> p50_us;
  std::optional<double> p99_us;
  // Messages that overlap: the time is the interval between them, not what one of them takes.
  bool streamed = false;
  // From memory to memory by NICs alone, without the kernels of a collective library.
  bool without_kernels = false;
  std::int64_t line = 0;  // of the source; 0: not known
  CountedRuns counted;    // as_on_host alone
  // Of a prediction.
  std::string limited_by;
  std::vector<std::pair<std::string, double>> parts_us;  // the largest first
};

template <typename T>
struct Seen {
  T value{};
  std::int64_t line = 0;
};

// What NCCL_DEBUG=INFO says of a run.
struct NcclFacts {
  struct Choice {
    std::string algorithm;  // "ring", "double_binary_tree", or NCCL's own name in small letters
    std::string protocol;   // "simple", "ll", "ll128"
    std::optional<int> channels;
    std::int64_t line = 0;
  };
  struct Transport {
    std::int64_t count = 0;
    std::int64_t line = 0;  // of the first
    std::string example;
  };

  std::int64_t lines = 0;  // of NCCL
  std::optional<Seen<std::string>> version;
  std::optional<Seen<int>> ranks;  // of the largest communicator
  std::optional<Seen<int>> channels;
  std::map<int, Seen<std::vector<int>>> rings;  // by channel, as far as the log lists them
  std::optional<Seen<bool>> rings_use_gdr;      // "Connected all rings, use ring PXN 0 GDR 1"
  bool connected = false;
  std::map<std::string, Transport> transports;  // "NET/IB", "NET/IB GDRDMA", "NET/Socket", "P2P", …
  std::map<int, std::int64_t> nics_used;        // N of NET/IB/N, and the line of the first
  std::optional<Seen<std::vector<std::string>>> nics;  // "mlx5_0:1/IB", all that one rank lists
  std::optional<Seen<std::string>> gdr_disabled;       // the words of the log
  std::optional<Seen<std::string>> network;            // "Using network IB"
  std::map<std::pair<std::string, std::int64_t>, Choice> choices;  // by collective and bytes
  std::vector<Seen<std::string>> settings;  // "NCCL_IB_DISABLE set by environment to 1."
  std::vector<Seen<std::string>> warnings;  // NCCL WARN
};

// What a perftest says of itself.
struct PerftestFacts {
  std::string test;  // "RDMA_Write BW Test"
  std::string device;
  std::optional<Seen<int>> queue_pairs;
  std::optional<Seen<int>> mtu;  // bytes
  std::optional<Seen<std::string>> link_type;
  std::optional<Seen<int>> depth;  // messages in flight
  std::optional<std::int64_t> gpu_memory_line;
  bool bidirectional = false;
};

struct ComparedRun {
  std::string source;  // the file as it was named
  std::string format;  // "nccl-tests log", "perftest output", …
  bool predicted = false;
  std::string name;  // of the scenario, or of the program that measured
  std::vector<ComparedRow> rows;
  std::vector<std::string> notes;
  std::vector<PortCounters> counters;  // predicted: of the last row; measured: of the whole run
  std::vector<std::vector<int>> rings;
  std::vector<ResourceUse> resources;
  nlohmann::json effective;  // the scenario; null where there is none
  NcclFacts nccl;
  std::optional<PerftestFacts> perftest;
  std::string why_empty;  // where there are no rows: what was found instead
  std::int64_t lines = 0;
};

// From a picosecond to thirty years: what lies beyond is no time that anybody measured, and makes
// bandwidths that are no numbers.
inline bool is_plausible_time(double us) { return us >= 1e-6 && us <= 1e15; }

// As many rows as a log may hold; a test that repeats for days is cut there, with a note.
inline constexpr std::size_t kMaxRows = 65536;

}  // namespace gradhaul

#pragma once

// What microbenchmarks of real hardware found (backends/measure/calibrate.h): each by itself, often
// enough to say how far its repetitions lie apart.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/quantities.h"

namespace gradhaul {

enum class CalibrationKind : std::uint8_t {
  kLatency,       // a write to the peer, from its post until the peer's thread knows, nothing else
                  // being on its way
  kBandwidth,     // one of a stream of writes, so many of them on their way at once
  kRegistration,  // of memory for RDMA
  kReduce,        // adding up a slice of that size
  kCopy,          // within memory, reading and writing that many bytes
  kStep,          // a slice of that size in one step of a ring all_reduce of all ranks, what their
                  // threads do of it included
};

struct CalibrationSettings {
  std::vector<Bytes> sizes;      // of messages, from below
  std::vector<int> queue_pairs;  // of a connection
  std::vector<int> depths;       // writes on their way at once
  // One repetition has no more writes than this, and no fewer than four of the largest.
  int most_messages = 1000;
};

// By the nearest rank: the tenth, the half and the nine tenths of all repetitions are no longer.
struct CalibrationSample {
  CalibrationKind kind = CalibrationKind::kLatency;
  Bytes size;
  int queue_pairs = 1;
  int depth = 1;
  Duration median{};
  Duration low{};
  Duration high{};
  int repetitions = 0;

  // Bytes a second, of the median.
  double bandwidth() const { return static_cast<double>(size.count) / median.seconds(); }
};

struct Calibration {
  std::vector<CalibrationSample> samples;
  // Of the endpoint: device, GID, MTU.
  std::vector<std::pair<std::string, std::string>> facts;
};

}  // namespace gradhaul

#pragma once

// What stands in the records by which ranks share the points of a sweep.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gradhaul {

// kReady
struct PointWorker {
  int jobs = 1;          // points at once
  std::string likeness;  // what has to be the same on all ranks: a hash of it
  std::string problem;   // why it cannot take part; empty: it can
};

// kPoint: the number alone. kAnswer: what the work returned. kLost: how its process ended.
struct PointRecord {
  std::size_t point = 0;
  std::string text;
};

std::vector<std::byte> body_of(const PointWorker& worker);
std::vector<std::byte> body_of(const PointRecord& record);

// Both throw WireError.
PointWorker point_worker_in(std::span<const std::byte> body);
PointRecord point_record_in(std::span<const std::byte> body);

}  // namespace gradhaul

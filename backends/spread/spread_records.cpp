#include "backends/spread/spread_records.h"

#include <algorithm>

#include "backends/bootstrap/wire_bytes.h"

namespace gradhaul {
namespace {

constexpr std::int32_t kMostJobs = 1 << 16;

}  // namespace

std::vector<std::byte> body_of(const PointWorker& worker) {
  WireWriter writer;
  writer.i32(worker.jobs);
  writer.text(worker.likeness);
  writer.text(worker.problem);
  return writer.bytes();
}

std::vector<std::byte> body_of(const PointRecord& record) {
  WireWriter writer;
  writer.i64(static_cast<std::int64_t>(record.point));
  writer.text(record.text);
  return writer.bytes();
}

PointWorker point_worker_in(std::span<const std::byte> body) {
  WireReader reader(body);
  PointWorker worker;
  worker.jobs = std::clamp(reader.i32(), 1, kMostJobs);
  worker.likeness = reader.text();
  worker.problem = reader.text();
  reader.expect_end();
  return worker;
}

PointRecord point_record_in(std::span<const std::byte> body) {
  WireReader reader(body);
  PointRecord record;
  record.point = reader.number(8);
  record.text = reader.text();
  reader.expect_end();
  return record;
}

}  // namespace gradhaul

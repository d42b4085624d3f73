#pragma once

// What the model makes of what a calibration measured (core/calibration.h), told its values: two
// nodes or more of one GPU and one NIC.

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/calibration.h"
#include "core/cluster.h"
#include "core/workload.h"

namespace gradhaul {

// The all_reduce whose slices are the sample of CalibrationKind::kStep: one channel, a ring of all.
struct CalibratedRing {
  int slots = 8;
  DataType datatype = DataType::kFp32;
  std::int64_t slices = 1;  // of a chunk
};

class CalibrationModel {
 public:
  // `gpu_memory`: ranks had their data there.
  CalibrationModel(Cluster cluster, bool gpu_memory, const CalibratedRing& ring)
      : cluster_(std::move(cluster)), gpu_memory_(gpu_memory), ring_(ring) {}

  // Of single writes, of streams and of the ring's slices; of other samples nothing.
  std::vector<std::optional<Duration>> times(const Calibration& found, Duration thread_step) const;
  // Of the ring's slices; 0 where none were measured.
  Duration slice_time(const Calibration& found, Duration thread_step) const;

 private:
  Duration slice_time(const CalibrationSample& sample, Duration thread_step) const;

  Cluster cluster_;
  bool gpu_memory_;
  CalibratedRing ring_;
};

}  // namespace gradhaul

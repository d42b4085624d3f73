#include "sim/calibration_model.h"

#include "sim/idle_connection.h"
#include "sim/pair_write.h"
#include "sim/predict.h"

namespace gradhaul {

std::vector<std::optional<Duration>> CalibrationModel::times(const Calibration& found,
                                                             Duration thread_step) const {
  constexpr std::int64_t kStream = 64;
  const Fabric fabric(cluster_);
  PairWrite pair;
  pair.hop = {.source = 0, .destination = 1, .source_nic = 0, .destination_nic = 0};
  pair.host_memory = !gpu_memory_;
  std::vector<std::optional<Duration>> times;
  for (const CalibrationSample& sample : found.samples) {
    std::optional<Duration>& time = times.emplace_back();
    pair.slice = sample.size;
    if (sample.kind == CalibrationKind::kLatency) {
      Hop hop = pair.hop;
      hop.relay_gpu = -1;
      hop.staged_out = hop.staged_in = pair.host_memory;
      time = Duration{IdleConnection(fabric, 1, hop, Protocol::kSimple, {},
                                     {.kernels = false, .host_memory = pair.host_memory})
                          .send(sample.size)};
    } else if (sample.kind == CalibrationKind::kBandwidth) {
      pair.size = sample.size * kStream;
      pair.slots = sample.depth;
      time = Duration{pair_write_time(fabric, 1, pair).ps / kStream};
    } else if (sample.kind == CalibrationKind::kStep) {
      time = slice_time(sample, thread_step);
    }
  }
  return times;
}

Duration CalibrationModel::slice_time(const Calibration& found, Duration thread_step) const {
  for (const CalibrationSample& sample : found.samples) {
    if (sample.kind == CalibrationKind::kStep) return slice_time(sample, thread_step);
  }
  return {};
}

Duration CalibrationModel::slice_time(const CalibrationSample& sample, Duration thread_step) const {
  PredictionRequest request;
  request.cluster = cluster_;
  request.workload.collective = Collective::kAllReduce;
  request.workload.datatype = ring_.datatype;
  request.workload.sizes = {sample.size * ring_.slices * cluster_.ranks()};
  request.communication.channels = 1;
  request.communication.slots = ring_.slots;
  request.communication.slot_size = sample.size;
  request.communication.thread_step = thread_step;
  const std::int64_t steps = 2 * (cluster_.ranks() - 1);
  return {predict(request).rows.front().time.ps / (steps * ring_.slices)};
}

}  // namespace gradhaul

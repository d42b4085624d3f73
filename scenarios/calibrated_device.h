#pragma once

// What a calibration (core/calibration.h) says of a NIC and of what adds up behind it, as device
// files have it. What was not measured is absent.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/calibration.h"
#include "core/cluster.h"
#include "scenarios/quantity.h"

namespace gradhaul {

// One value of a device, to four digits; between `low` and `high` lie eight of ten repetitions.
struct CalibratedValue {
  std::string key;
  std::optional<Dimension> dimension;  // nothing: a bare number
  std::int64_t value = 0;              // in base units
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::string source;
};

struct CalibratedDevice {
  std::string kind;  // "nic", "gpu"
  std::vector<CalibratedValue> values;
};

// rate, message_rate, transmit_latency and receive_latency. The last three where messages of no
// more than 256 B were written. What a write takes from its post until the peer's thread knows is
// measured as one, and half of it stands in either latency.
CalibratedDevice calibrated_nic(const Calibration& found);
// Of the memory and the reducer of a rank, the host's with a thread or a GPU's by itself:
// reduce_bandwidth, memory_bandwidth.
CalibratedDevice calibrated_gpu(const Calibration& found, bool gpu_memory = false);
// thread_step: with what a post or a completion of a rank's thread takes on top of what the devices
// say, a slice of the ring takes as long as it was measured to. `slice_time`: what the model makes
// of such a slice with a step, no less for a longer one. Nothing where the devices alone take as
// long.
std::optional<CalibratedValue> calibrated_thread_step(
    const Calibration& found, const std::function<Duration(Duration step)>& slice_time);
// registration_base and registration_page (of 4 KiB), by the smallest and the largest size.
std::vector<CalibratedValue> calibrated_registration(const Calibration& found);

// As scenario files have them; what is absent costs nothing.
NicModel nic_model_of(const CalibratedDevice& nic);
GpuModel gpu_model_of(const CalibratedDevice& gpu);

// As calibrated_scenario_text() has it.
Cluster calibrated_cluster(const CalibratedDevice& nic, const CalibratedDevice& gpu, int nodes);

// What a NIC's file says of what registering takes, whose keys they are not: how to set them. Not
// of thread_step, which is that of a network where slots are given back at no cost, as here.
std::string communication_comment(const std::vector<CalibratedValue>& values);

// For comments.
struct CalibrationOrigin {
  std::string version;
  std::string date;
  std::string host;
  std::string backend;
  std::vector<std::string> facts;
};

// `base`: the device that it stands over, by name or path; empty: none.
std::string device_file_text(const CalibratedDevice& device, const CalibrationOrigin& origin,
                             const std::string& base = {});

// Two nodes, or as many, with these devices and a network that costs nothing more.
struct CalibratedCluster {
  std::string name;
  int nodes = 2;
  CalibratedDevice nic;
  CalibratedDevice gpu;
  std::vector<CalibratedValue> communication;  // thread_step, registration_base, …
};
std::string calibrated_scenario_text(const CalibratedCluster& cluster,
                                     const CalibrationOrigin& origin);

}  // namespace gradhaul

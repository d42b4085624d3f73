#pragma once

// predict --pcap: what is asked for, and the files.

#include <cstdint>
#include <memory>
#include <string>

#include "analysis/packet_capture.h"
#include "core/prediction_request.h"
#include "scenarios/scenario.h"

namespace gradhaul {

struct CaptureOptions {
  std::string folder;  // empty: none is written
  std::string ports = "node0.nic0";
  std::string window;  // "FROM..TO"; empty: all of it
  std::int64_t snap = 65535;
  std::int64_t most_packets = 100'000;
};

class CaptureRecording {
 public:
  // Makes the folder where there is none. Throws ConfigError where the scenario has no such
  // packets or ports, and FileError.
  CaptureRecording(const CaptureOptions& options, const Scenario& scenario);
  // The run is looked at, and nothing of it is skipped. Nothing where no capture was asked for.
  void join(PredictionRequest& request);
  // Whether the files could be written; complains where not, and says what they hold.
  bool write();

 private:
  std::unique_ptr<PacketCapture> capture_;
};

}  // namespace gradhaul

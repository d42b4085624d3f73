#pragma once

// How far a run is, on standard error: one line that is written over, and gone at the end.

#include <chrono>
#include <cstdint>

#include "core/prediction_request.h"

namespace gradhaul {

enum class ProgressMode : std::uint8_t {
  kAuto,  // on a terminal, once the run has lasted a second
  kOn,
  kOff,
};

class ProgressBar final : public ProgressSink {
 public:
  explicit ProgressBar(ProgressMode mode);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void on_progress(double done, Bytes row) override;

 private:
  using Clock = std::chrono::steady_clock;

  bool wanted_;
  std::chrono::milliseconds quiet_;  // at the start
  Clock::time_point start_;
  Clock::time_point next_;  // not before
  bool shown_ = false;
};

}  // namespace gradhaul

#pragma once

// How far a run is, on standard error: one line that is written over, and gone at the end.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

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
  // Of a sweep: so many points are done, `known` of them from before.
  void on_points(std::size_t done, std::size_t points, std::size_t known);

 private:
  using Clock = std::chrono::steady_clock;
  // Whether it is time to draw again.
  bool due();
  void draw(double share, const std::string& text);
  double seconds() const;

  bool wanted_;
  std::chrono::milliseconds quiet_;  // at the start
  Clock::time_point start_;
  Clock::time_point next_;  // not before
  bool shown_ = false;
};

}  // namespace gradhaul

#include "scenarios/progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "scenarios/quantity.h"

namespace gradhaul {
namespace {

constexpr int kWidth = 30;
constexpr std::chrono::milliseconds kBetweenDrawings{100};
constexpr const char* kClearLine = "\r\033[K";

}  // namespace

ProgressBar::ProgressBar(ProgressMode mode)
    : wanted_(mode == ProgressMode::kOn ||
              (mode == ProgressMode::kAuto && isatty(STDERR_FILENO) == 1)),
      quiet_(mode == ProgressMode::kOn ? 0 : 1000),
      start_(Clock::now()),
      next_(start_ + quiet_) {}

ProgressBar::~ProgressBar() {
  if (!shown_) return;
  std::fputs(isatty(STDERR_FILENO) == 1 ? kClearLine : "\n", stderr);
  std::fflush(stderr);
}

void ProgressBar::on_progress(double done, Bytes row) {
  if (!wanted_) return;
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  next_ = now + kBetweenDrawings;
  shown_ = true;
  const double share = std::clamp(done, 0.0, 1.0);
  const int filled = static_cast<int>(share * kWidth);
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double left = share > 0 ? seconds / share - seconds : 0;
  const std::string text =
      fmt::format("\r[{:#>{}}{:.>{}}] {:3.0f} %  {}  {:.0f} s, some {:.0f} s to go ", "", filled,
                  "", kWidth - filled, share * 100, format_bytes(row), seconds, left);
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace gradhaul

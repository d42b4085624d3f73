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

bool ProgressBar::due() {
  if (!wanted_) return false;
  const Clock::time_point now = Clock::now();
  if (now < next_) return false;
  next_ = now + kBetweenDrawings;
  shown_ = true;
  return true;
}

double ProgressBar::seconds() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

void ProgressBar::draw(double share, const std::string& text) {
  const int filled = static_cast<int>(share * kWidth);
  const std::string line = fmt::format("\r[{:#>{}}{:.>{}}] {:3.0f} %  {} ", "", filled, "",
                                       kWidth - filled, share * 100, text);
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
}

void ProgressBar::on_progress(double done, Bytes row) {
  if (!due()) return;
  const double share = std::clamp(done, 0.0, 1.0);
  const double left = share > 0 ? seconds() / share - seconds() : 0;
  draw(share, fmt::format("{}  {:.0f} s, some {:.0f} s to go", format_bytes(row), seconds(), left));
}

void ProgressBar::on_points(std::size_t done, std::size_t points, std::size_t known) {
  if (!due()) return;
  const double rate = static_cast<double>(done - known) / std::max(seconds(), 1e-3);
  std::string left;
  if (rate > 0)
    left = fmt::format(", some {:.0f} s to go", static_cast<double>(points - done) / rate);
  draw(static_cast<double>(done) / static_cast<double>(points),
       fmt::format("{} of {} points, {:.3g} a second{}", done, points, rate, left));
}

}  // namespace gradhaul

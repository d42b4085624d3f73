#include "sim/reaction_point.h"

#include <algorithm>

#include "core/assert.h"

namespace gradhaul {

ReactionPoint::ReactionPoint(const CongestionControl& settings, BitRate line)
    : settings_(settings),
      line_(static_cast<double>(line.bits_per_second)),
      rate_(line_),
      target_(line_),
      alpha_(settings.initial_alpha) {
  GRADHAUL_ASSERT(settings.alpha_timer > Duration{} && settings.decrease_interval > Duration{} &&
                      settings.increase_timer > Duration{},
                  "timers take time");
}

void ReactionPoint::on_notification(std::int64_t now) {
  advance(now);
  notified_alpha_ = notified_decrease_ = true;
  if (!active_) {
    active_ = true;
    if (settings_.first_cnp_rate.bits_per_second > 0) {
      const auto first = static_cast<double>(settings_.first_cnp_rate.bits_per_second);
      rate_ = target_ = std::min(line_, first);
    }
    next_alpha_ = now + settings_.alpha_timer.ps;
    next_decrease_ = now;
  }
  advance(now);
}

void ReactionPoint::advance(std::int64_t now) {
  while (true) {
    const std::int64_t next = std::min({next_alpha_, next_decrease_, next_increase_});
    if (next > now) return;
    if (next == next_alpha_) {
      update_alpha();
    } else if (next == next_decrease_) {
      cut(next);
    } else {
      next_increase_ += settings_.increase_timer.ps;
      increase();
      ++by_timer_;
    }
  }
}

void ReactionPoint::update_alpha() {
  alpha_ = (1 - settings_.gain) * alpha_ + (notified_alpha_ ? settings_.gain : 0);
  notified_alpha_ = false;
  next_alpha_ += settings_.alpha_timer.ps;
}

// Where a notification has come since the last time.
void ReactionPoint::cut(std::int64_t now) {
  next_decrease_ += settings_.decrease_interval.ps;
  if (!notified_decrease_) return;
  notified_decrease_ = false;
  if (increased_ || settings_.clamp_target) target_ = rate_;
  increased_ = false;
  const auto least = static_cast<double>(settings_.least_rate.bits_per_second);
  rate_ = std::max(least, rate_ * std::max(1 - alpha_ / 2, settings_.min_decrease_factor));
  by_timer_ = by_bytes_ = 0;
  bytes_ = 0;
  next_increase_ = now + settings_.increase_timer.ps;
}

void ReactionPoint::increase() {
  increased_ = true;
  const bool counts_bytes = settings_.increase_bytes.count > 0;
  const int most = std::max(by_timer_, by_bytes_);
  const int beyond = counts_bytes ? std::min(by_timer_, by_bytes_) : by_timer_;
  if (most >= settings_.fast_recovery) {
    const BitRate step =
        beyond > settings_.fast_recovery ? settings_.hyper_increase : settings_.additive_increase;
    target_ = std::min(line_, target_ + static_cast<double>(step.bits_per_second));
  }
  rate_ = std::min(line_, (rate_ + target_) / 2);
}

void ReactionPoint::on_sent(Bytes wire, std::int64_t now) {
  advance(now);
  if (!active_ || settings_.increase_bytes.count == 0) return;
  bytes_ += wire.count;
  while (bytes_ >= settings_.increase_bytes.count) {
    bytes_ -= settings_.increase_bytes.count;
    increase();
    ++by_bytes_;
  }
}

std::int64_t ReactionPoint::spacing(Bytes wire, std::int64_t now) {
  advance(now);
  if (rate_ >= line_) return 0;
  return static_cast<std::int64_t>(static_cast<double>(wire.count) * 8e12 / rate_);
}

}  // namespace gradhaul

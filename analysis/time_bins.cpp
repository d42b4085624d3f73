#include "analysis/time_bins.h"

#include <algorithm>

namespace gradhaul {

void TimeBins::add(std::int64_t from, std::int64_t to, std::int64_t value) {
  if (from >= to || (kind_ == BinKind::kPeak && value <= 0)) return;
  while (to > width_ * static_cast<std::int64_t>(most_)) double_width();
  const auto last = static_cast<std::size_t>((to - 1) / width_);
  if (values_.size() <= last) values_.resize(last + 1, 0);
  for (auto bin = static_cast<std::size_t>(from / width_); bin <= last; ++bin) {
    if (kind_ == BinKind::kPeak) {
      values_[bin] = std::max(values_[bin], value);
      continue;
    }
    const std::int64_t begin = static_cast<std::int64_t>(bin) * width_;
    values_[bin] += std::min(to, begin + width_) - std::max(from, begin);
  }
}

void TimeBins::widen(std::int64_t width) {
  while (width_ < width) double_width();
}

void TimeBins::double_width() {
  width_ *= 2;
  const std::size_t half = (values_.size() + 1) / 2;
  values_.resize(half * 2, 0);
  for (std::size_t bin = 0; bin < half; ++bin) {
    const std::int64_t left = values_[bin * 2];
    const std::int64_t right = values_[bin * 2 + 1];
    values_[bin] = kind_ == BinKind::kPeak ? std::max(left, right) : left + right;
  }
  values_.resize(half);
}

}  // namespace gradhaul

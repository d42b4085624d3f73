#pragma once

// A quantity over time in a bounded number of bins of equal width, which doubles as time goes on.
// Times in ps, from 0.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gradhaul {

enum class BinKind : std::uint8_t {
  kPeak,   // the greatest value within the bin
  kShare,  // how many ps of the bin something was so
};

class TimeBins {
 public:
  static constexpr std::int64_t kLeastWidth = 1000;

  TimeBins(BinKind kind, std::size_t most) : kind_(kind), most_(most) {}

  // In [from, to) the quantity was `value` (kPeak), or something was so once more (kShare; `value`
  // does not matter).
  void add(std::int64_t from, std::int64_t to, std::int64_t value = 0);
  // To at least this width, which is kLeastWidth times a power of two.
  void widen(std::int64_t width);

  std::int64_t width() const { return width_; }
  // From the first one; those after the last have nothing.
  const std::vector<std::int64_t>& values() const { return values_; }

 private:
  void double_width();

  BinKind kind_;
  std::size_t most_;
  std::int64_t width_ = kLeastWidth;
  std::vector<std::int64_t> values_;
};

}  // namespace gradhaul

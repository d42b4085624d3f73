#include "backends/measure/test_pattern.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/half_floats.h"
#include "core/assert.h"

namespace gradhaul {
namespace {

constexpr std::int64_t kPeriod = 65537;

// SplitMix64's finaliser (Steele, Lea & Flood, OOPSLA 2014).
std::uint64_t hash_of(std::uint64_t salt, Rank rank, std::int64_t place) {
  std::uint64_t z = salt * 0x9e3779b97f4a7c15U +
                    static_cast<std::uint64_t>(rank) * 0xd1b54a32d192ed03U +
                    static_cast<std::uint64_t>(place) + 1;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

struct FloatShape {
  int fraction_bits;
  std::uint32_t exponent_of_one;
  int bits;
};

FloatShape float_shape(DataType type) {
  switch (type) {
    case DataType::kFp32:
      return {23, 127, 32};
    case DataType::kFp16:
      return {10, 15, 16};
    case DataType::kBf16:
      return {7, 127, 16};
    case DataType::kInt32:
    case DataType::kInt8:
    case DataType::kUint8:
      break;
  }
  assertion_failed("a floating-point type", __FILE__, __LINE__, "integers have no such shape");
}

// Of an integer's bits, those above it not looked at.
std::int64_t integer_value(DataType type, std::uint32_t element) {
  if (type == DataType::kInt8) return static_cast<std::int8_t>(element);
  if (type == DataType::kUint8) return static_cast<std::uint8_t>(element);
  return static_cast<std::int32_t>(element);
}

std::uint32_t encoded(DataType type, float value) {
  if (type == DataType::kFp16) return fp16_from_float(value);
  if (type == DataType::kBf16) return bf16_from_float(value);
  return bits_of(value);
}

float decoded(DataType type, std::uint32_t element) {
  if (type == DataType::kFp16) return float_from_fp16(static_cast<std::uint16_t>(element));
  if (type == DataType::kBf16) return float_from_bf16(static_cast<std::uint16_t>(element));
  return float_of(element);
}

// Elements [first, …) of what repeats.
void repeat(const std::vector<std::byte>& period, std::int64_t first, std::size_t element,
            std::span<std::byte> bytes) {
  const auto length = static_cast<std::int64_t>(period.size() / element);
  std::size_t at = static_cast<std::size_t>(first % length) * element;
  for (std::size_t done = 0; done < bytes.size();) {
    const std::size_t piece = std::min(period.size() - at, bytes.size() - done);
    std::memcpy(bytes.data() + done, period.data() + at, piece);
    done += piece;
    at = 0;
  }
}

bool reduces(Collective collective) {
  return collective == Collective::kAllReduce || collective == Collective::kReduceScatter;
}

}  // namespace

TestPattern::TestPattern(const PatternShape& shape, Rank rank)
    : shape_(shape),
      rank_(rank),
      element_(static_cast<std::size_t>(size_of(shape.datatype).count)),
      period_(std::clamp<std::int64_t>(shape.count, 1, kPeriod)),
      input_(static_cast<std::size_t>(period_) * element_) {
  for (std::int64_t i = 0; i < period_; ++i) store(input_, i, contribution(rank, i));
  if (!reduces(shape.collective)) return;
  expected_.resize(input_.size());
  for (std::int64_t i = 0; i < period_; ++i) store(expected_, i, reduced(i));
}

void TestPattern::input(std::int64_t first, std::span<std::byte> bytes) const {
  repeat(input_, first, element_, bytes);
}

void TestPattern::expected(std::int64_t first, std::span<std::byte> bytes) const {
  if (reduces(shape_.collective)) return repeat(expected_, first, element_, bytes);
  std::byte* target = bytes.data();
  const auto count = static_cast<std::int64_t>(bytes.size() / element_);
  for (std::int64_t i = first; i < first + count; ++i, target += element_) {
    const auto [source, place] = origin(i);
    const std::uint32_t element = moved(source, place % period_);
    std::memcpy(target, &element, element_);
  }
}

// Which rank's input holds what this rank's output must have at a place, and where.
std::pair<Rank, std::int64_t> TestPattern::origin(std::int64_t place) const {
  const std::int64_t part = shape_.count / shape_.ranks;
  switch (shape_.collective) {
    case Collective::kAllToAll:
      return {static_cast<Rank>(place / part), rank_ * part + place % part};
    case Collective::kAllGather:
      return {static_cast<Rank>(place / part), place};
    case Collective::kBroadcast:
      return {0, place};
    default:
      return {(rank_ + shape_.ranks - 1) % shape_.ranks, place};  // send_recv
  }
}

std::uint32_t TestPattern::moved(Rank rank, std::int64_t place) const {
  return static_cast<std::uint32_t>(hash_of(shape_.salt, rank, place) >> 32);
}

std::uint32_t TestPattern::contribution(Rank rank, std::int64_t place) const {
  if (!reduces(shape_.collective)) return moved(rank, place);
  const bool adds = shape_.reduction == Reduction::kSum || shape_.reduction == Reduction::kAvg;
  if (is_integer(shape_.datatype)) {
    if (shape_.reduction != Reduction::kAvg) return moved(rank, place);
    return static_cast<std::uint32_t>(small_number(rank, place));
  }
  if (!adds) return finite_number(hash_of(shape_.salt, rank, place));
  return encoded(shape_.datatype, static_cast<float>(small_number(rank, place)));
}

// The greatest is such that those of all ranks together stay within the significand, or the
// integer.
std::int64_t TestPattern::small_number(Rank rank, std::int64_t place) const {
  const std::uint64_t hash = hash_of(shape_.salt, rank, place);
  const std::int64_t most = std::int64_t{1}
                            << (is_integer(shape_.datatype)
                                    ? static_cast<int>(element_) * 8 - 2
                                    : float_shape(shape_.datatype).fraction_bits + 1);
  const std::int64_t greatest = std::max<std::int64_t>(1, most / shape_.ranks);
  if (most < shape_.ranks) {
    const auto turn = static_cast<std::int64_t>(hash_of(shape_.salt, -1, place) >> 32);
    if ((rank + turn) % shape_.ranks >= most) return 0;
  }
  const auto magnitude = static_cast<std::int64_t>((hash >> 32) % (greatest + 1));
  const bool positive = shape_.datatype == DataType::kUint8 || (hash & 1U) != 0;
  return positive ? magnitude : -magnitude;
}

// Within a factor of 64 of 1, of either sign.
std::uint32_t TestPattern::finite_number(std::uint64_t hash) const {
  const FloatShape shape = float_shape(shape_.datatype);
  const auto random = static_cast<std::uint32_t>(hash >> 32);
  const std::uint32_t fraction = random & ((1U << shape.fraction_bits) - 1);
  const std::uint32_t exponent =
      shape.exponent_of_one + static_cast<std::uint32_t>(hash & 0xffU) % 6;
  const auto sign = static_cast<std::uint32_t>(hash >> 8 & 1U);
  return sign << (shape.bits - 1) | exponent << shape.fraction_bits | fraction;
}

std::uint32_t TestPattern::reduced(std::int64_t place) const {
  const bool integer = is_integer(shape_.datatype);
  if (shape_.reduction == Reduction::kMax || shape_.reduction == Reduction::kMin) {
    const auto value = [&](std::uint32_t element) {
      return integer ? static_cast<double>(integer_value(shape_.datatype, element))
                     : static_cast<double>(decoded(shape_.datatype, element));
    };
    std::uint32_t best = contribution(0, place);
    for (Rank rank = 1; rank < shape_.ranks; ++rank) {
      const std::uint32_t other = contribution(rank, place);
      const bool greater = value(other) > value(best);
      const bool less = value(other) < value(best);
      if (shape_.reduction == Reduction::kMax ? greater : less) best = other;
    }
    return best;
  }
  const bool average = shape_.reduction == Reduction::kAvg;
  std::int64_t sum = 0;
  for (Rank rank = 0; rank < shape_.ranks; ++rank) {
    sum += integer && !average ? integer_value(shape_.datatype, contribution(rank, place))
                               : small_number(rank, place);
  }
  if (integer) return static_cast<std::uint32_t>(average ? sum / shape_.ranks : sum);
  const auto exact = static_cast<float>(sum);
  return encoded(shape_.datatype, average ? exact / static_cast<float>(shape_.ranks) : exact);
}

void TestPattern::store(std::vector<std::byte>& period, std::int64_t place,
                        std::uint32_t element) const {
  // The lower bytes first: gradhaul runs on little-endian machines, as its kernels suppose.
  std::memcpy(period.data() + static_cast<std::size_t>(place) * element_, &element, element_);
}

}  // namespace gradhaul

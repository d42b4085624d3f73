#pragma once

// What ranks contribute, and what must come out of it, to the bit. Data is a hash of rank and place
// that repeats every 65537 elements: a prime, so that what lands a slice or a chunk beside its
// place is seen.
//
// Sums and averages of floating-point numbers are exact in any order: the numbers are integers so
// small that no partial sum of all ranks exceeds what the significand holds (fp32 2^24, fp16 2^11,
// bf16 2^8); with more ranks than that some contribute 0. An average is then the exact sum divided
// once, which IEEE 754 rounds in one way only. Integers: sums wrap modulo 2^32; for an average they
// are small enough not to. Maxima and minima: finite numbers of full precision. What is only
// moved: any patterns at all, NaNs and infinities among them.

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/communication.h"
#include "core/workload.h"

namespace gradhaul {

struct PatternShape {
  Collective collective = Collective::kAllReduce;
  DataType datatype = DataType::kFp32;
  Reduction reduction = Reduction::kSum;
  Rank ranks = 2;
  std::int64_t count = 0;  // elements of a rank's input, and of its output
  std::uint64_t salt = 0;  // other data for another run
};

class TestPattern {
 public:
  // As one rank needs it; memory is O(1).
  TestPattern(const PatternShape& shape, Rank rank);

  // Elements [first, …) of this rank's input, as many as fit.
  void input(std::int64_t first, std::span<std::byte> bytes) const;
  // Elements of what its output must be, where core/make_schedule.h's result_of() has its result.
  void expected(std::int64_t first, std::span<std::byte> bytes) const;

 private:
  std::uint32_t contribution(Rank rank, std::int64_t place) const;
  std::pair<Rank, std::int64_t> origin(std::int64_t place) const;
  std::uint32_t moved(Rank rank, std::int64_t place) const;
  std::int64_t small_number(Rank rank, std::int64_t place) const;
  std::uint32_t finite_number(std::uint64_t hash) const;
  std::uint32_t reduced(std::int64_t place) const;
  void store(std::vector<std::byte>& period, std::int64_t place, std::uint32_t element) const;

  PatternShape shape_;
  Rank rank_;
  std::size_t element_;
  std::int64_t period_;
  std::vector<std::byte> input_;  // elements 0 to period - 1
  std::vector<std::byte> expected_;
};

}  // namespace gradhaul

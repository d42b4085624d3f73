#pragma once

// What the 32 bits of immediate data say. A credit has the upper bit, and the slots it returns.
// Data has which write of its connection it belongs to and in how many parts that goes; and, where
// the bytes went by a plain write before it, how many, since the completion of an empty write
// cannot tell.

#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/quantities.h"

namespace gradhaul {

class ImmediateFormat {
 public:
  struct Data {
    std::uint32_t number = 0;  // of the write, modulo numbers()
    std::uint32_t parts = 1;
    std::uint32_t length = 0;  // of this part; 0 where the completion tells
  };

  // The length comes with the completion.
  ImmediateFormat() : ImmediateFormat(24, 7, 0) {}
  // Data apart from its immediate, into so many slots, in at most so many parts.
  static ImmediateFormat apart(int slots, int most_parts) {
    // Twice as many numbers as writes can be on their way, so that one that cannot be is seen.
    const int number_bits = std::bit_width(static_cast<unsigned>(slots)) + 1;
    const int parts_bits = std::bit_width(static_cast<unsigned>(most_parts - 1));
    return {number_bits, parts_bits, 31 - number_bits - parts_bits};
  }

  static bool is_credit(std::uint32_t immediate) { return (immediate & kCreditBit) != 0; }
  static std::uint32_t credit(std::uint32_t slots) { return kCreditBit | slots; }
  static std::uint32_t slots_of(std::uint32_t immediate) { return immediate & ~kCreditBit; }

  std::uint32_t data(const Data& data) const {
    return data.length << (number_bits_ + parts_bits_) | (data.parts - 1) << number_bits_ |
           (data.number & number_mask());
  }
  Data data_of(std::uint32_t immediate) const {
    return {immediate & number_mask(), (immediate >> number_bits_ & mask(parts_bits_)) + 1,
            immediate >> number_bits_ >> parts_bits_ & mask(length_bits_)};
  }
  std::uint32_t number_mask() const { return mask(number_bits_); }
  // Whether the immediate says how long the data is.
  bool tells_length() const { return length_bits_ > 0; }
  Bytes longest() const { return {mask(length_bits_)}; }

 private:
  static constexpr std::uint32_t kCreditBit = 0x80000000;
  static constexpr std::uint32_t mask(int bits) {
    return static_cast<std::uint32_t>((std::uint64_t{1} << bits) - 1);
  }
  ImmediateFormat(int number_bits, int parts_bits, int length_bits)
      : number_bits_(number_bits),
        parts_bits_(parts_bits),
        length_bits_(std::max(length_bits, 0)) {}

  int number_bits_;
  int parts_bits_;
  int length_bits_;
};

}  // namespace gradhaul

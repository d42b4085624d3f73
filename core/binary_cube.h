#pragma once

// Ranks as the corners of a cube of as many dimensions as fit, for algorithms that exchange with
// one neighbour in each dimension. Where N is no power of two, with P the largest one below, the
// first N - P ranks at odd positions are hosts of the rank before them, their guest, which hands
// its contribution in before and gets the result after (Thakur, Rabenseifner, Gropp, "Optimization
// of collective communication operations in MPICH", IJHPCA 19, 2005).

#include <bit>

#include "core/communication.h"

namespace gradhaul {

class BinaryCube {
 public:
  // At least two positions.
  explicit BinaryCube(Rank positions)
      : corners_(static_cast<int>(std::bit_floor(static_cast<unsigned>(positions)))),
        guests_(positions - corners_) {}

  int corners() const { return corners_; }
  int dimensions() const { return std::countr_zero(static_cast<unsigned>(corners_)); }

  bool is_guest(int position) const { return position < 2 * guests_ && position % 2 == 0; }
  bool is_host(int position) const { return position < 2 * guests_ && position % 2 == 1; }
  int guest_of(int position) const { return position - 1; }
  int host_of(int position) const { return position + 1; }
  // Of a position that is no guest.
  int corner(int position) const {
    return position < 2 * guests_ ? position / 2 : position - guests_;
  }
  int position(int corner) const { return corner < guests_ ? 2 * corner + 1 : corner + guests_; }
  int neighbour(int position, int dimension) const {
    return this->position(corner(position) ^ (1 << dimension));
  }

 private:
  int corners_;
  int guests_;
};

}  // namespace gradhaul

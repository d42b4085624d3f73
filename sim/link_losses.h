#pragma once

// Which packets a link loses, of links that lose any: to bit errors, drawn, or because the link is
// down. A packet of n bits gets through a bit error rate r with (1 - r)^n [bits independent of each
// other]. Draws are hashes of seed, link and the packet's number on it, so that they do not depend
// on what else is drawn. What two ports tell each other (credits, pause frames) gets through.

#include <cstdint>
#include <vector>

#include "sim/fabric.h"

namespace gradhaul {

class LinkLosses {
 public:
  struct Totals {
    std::int64_t packets = 0;  // that came to cross it, acknowledgements included
    std::int64_t bits = 0;     // of these
    std::int64_t lost = 0;     // of the packets
  };

  explicit LinkLosses(const Fabric& fabric);

  void draw_by(std::uint64_t seed) { seed_ = seed; }
  // Whether the next packet on the link is lost, which is on it from `start` to `end` (ps since the
  // start of the run).
  bool loses(LinkId link, Bytes wire, std::int64_t start, std::int64_t end);
  // All zero of a link that loses nothing.
  Totals totals(LinkId link) const {
    return totals_.empty() ? Totals{} : totals_[static_cast<std::size_t>(link)];
  }

 private:
  const Fabric& fabric_;
  std::uint64_t seed_ = 1;
  std::vector<Totals> totals_;  // by link; none where no link loses anything
};

// Of `bits`, so many in a row, at a bit error rate.
double chance_of_loss(double bit_error_rate, std::int64_t bits);

}  // namespace gradhaul

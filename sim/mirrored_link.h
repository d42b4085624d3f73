#pragma once

// The second link of a pair of PCIe links (sim/station_plan.h): it serves what the first does, one
// latency later, and no other packets. So it need not be stepped: what there is to say of it
// follows from the first.

#include <cstdint>

#include "sim/link_state.h"

namespace gradhaul {

class MirroredLink {
 public:
  // The first packet of all: what it adds to the first link's digest, and to the second's.
  void begin(std::uint64_t first_record, std::uint64_t second_record) {
    difference_ = add_mod(second_record, kDigestModulus - first_record);
  }
  // Digests differ by the first packet's record only, since all others tell of differences.
  void settle(const LinkState& first, LinkState& second) const {
    if (first.digest.count == second.digest.count) return;
    second.free = first.free + first.latency;
    second.carry = first.carry;
    second.busy_total = first.busy_total;
    second.payload_total = first.payload_total;
    second.extra_total = first.extra_total;
    second.digest.last_start = first.digest.last_start + first.latency;
    second.digest.count = first.digest.count;
    const auto later = static_cast<std::uint64_t>(first.digest.count - 1);
    second.digest.value =
        add_mod(first.digest.reduced(), multiply_mod(difference_, power_mod(kDigestFactor, later)));
  }

 private:
  std::uint64_t difference_ = 0;
};

}  // namespace gradhaul

#pragma once

// PCI Express: link rates and what TLPs cost on the wire, generations 1 to 6.

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/cluster.h"
#include "core/quantities.h"

namespace gradhaul {

// Transfers a second and lane, and line coding: 8b/10b for generations 1 and 2, 128b/130b for 3 to
// 5 [PCIe Base 5.0, 4.2], FLITs of 256 bytes with 236 for TLPs in generation 6 [PCIe
// Base 6.0, 4.2.3].
struct PcieGeneration {
  std::int64_t transfers_per_second = 0;
  std::int64_t coding_numerator = 1;
  std::int64_t coding_denominator = 1;
};

inline constexpr std::array<PcieGeneration, 7> kPcieGenerations{{
    {0, 1, 1},
    {2'500'000'000, 8, 10},
    {5'000'000'000, 8, 10},
    {8'000'000'000, 128, 130},
    {16'000'000'000, 128, 130},
    {32'000'000'000, 128, 130},
    {64'000'000'000, 236, 256},
}};

// Beside the payload, with 64-bit addresses: framing and LCRC 8 bytes; header of a memory write or
// a read request 16, of a completion 12 [PCIe Base 5.0, 2.2 and 3.6; the same sums in Neugebauer et
// al., SIGCOMM 2018].
inline constexpr Bytes kPostedOverhead{24};
inline constexpr Bytes kReadRequestBytes{24};
inline constexpr Bytes kCompletionOverhead{20};

// A data credit is 16 bytes of payload [PCIe Base 5.0, 2.6.1].
inline constexpr std::int64_t kDataCreditBytes = 16;

// Read requests a port can hold. No current switch publishes its own; 72 is what an Intel Xeon
// C5500 root port advertises for x16 (datasheet, table 76).
inline constexpr int kNonPostedHeaderCredits = 72;

// First bit in to first bit out of a PCIe switch: 105 ns for Broadcom's PEX88000 (generation 4),
// taken for all; and the wire and receiver of one link, an estimate.
inline constexpr Duration kPcieSwitchLatency{105'000};
inline constexpr Duration kPcieLinkLatency{20'000};

// What a link carries for TLPs, headers included: raw rate times coding, less the share of DLLPs
// and ordered sets. Rounded down to whole bits a second.
constexpr BitRate pcie_rate(PcieLink link, double dllp_overhead) {
  const PcieGeneration generation = kPcieGenerations.at(static_cast<std::size_t>(link.generation));
  // One part in a million is finer than any overhead is known, and keeps the arithmetic integral.
  const auto overhead_ppm = static_cast<std::int64_t>(dllp_overhead * 1e6 + 0.5);
  const Int128 coded = Int128{generation.transfers_per_second} * link.lanes *
                       generation.coding_numerator * (1'000'000 - overhead_ppm);
  return {static_cast<std::int64_t>(coded / (generation.coding_denominator * 1'000'000))};
}

// TLPs that a receiver's posted (or completion) credits let be outstanding, of `unit` payload
// bytes: min(header credits, data credits / ceil(unit / 16)), at least one.
constexpr std::int64_t credit_window(std::int64_t header_credits, std::int64_t data_credits,
                                     Bytes unit) {
  const std::int64_t each = (unit.count + kDataCreditBytes - 1) / kDataCreditBytes;
  const std::int64_t window = std::min(header_credits, data_credits / each);
  return window < 1 ? 1 : window;
}

}  // namespace gradhaul

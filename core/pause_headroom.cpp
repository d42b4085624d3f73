#include "core/pause_headroom.h"

#include "core/roce_framing.h"

namespace gradhaul {

Bytes pause_headroom(BitRate rate, Bytes largest, Duration cable, Duration response) {
  const Duration away = 2 * cable + response;
  const Int128 bit_ps = Int128{rate.bits_per_second} * away.ps;
  constexpr Int128 kByte = Int128{8} * 1'000'000'000'000;
  const auto meanwhile = static_cast<std::int64_t>((bit_ps + kByte - 1) / kByte);
  return largest + kPauseFrame + Bytes{meanwhile} + largest + largest;
}

}  // namespace gradhaul

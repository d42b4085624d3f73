#include "sim/link_losses.h"

#include <algorithm>
#include <cmath>

#include "sim/link_digest.h"

namespace gradhaul {

LinkLosses::LinkLosses(const Fabric& fabric) : fabric_(fabric) {
  const bool any = std::any_of(fabric.links().begin(), fabric.links().end(),
                               [](const Link& link) { return link.loses(); });
  if (any) totals_.resize(fabric.links().size());
}

bool LinkLosses::loses(LinkId link, Bytes wire, std::int64_t start, std::int64_t end) {
  const Link& on = fabric_.link(link);
  Totals& totals = totals_[static_cast<std::size_t>(link)];
  const std::int64_t bits = wire.count * 8;
  const std::uint64_t draw =
      mix64(mix64(seed_ + static_cast<std::uint64_t>(link) + 0x1055'0000'0000) +
            static_cast<std::uint64_t>(totals.packets) * 0x9E3779B97F4A7C15);
  ++totals.packets;
  totals.bits += bits;
  const bool down = std::any_of(on.outages.begin(), on.outages.end(), [&](const Outage& outage) {
    return start < outage.until.ps && end > outage.from.ps;
  });
  const double chance = static_cast<double>(draw >> 11) * 0x1p-53;
  const bool lost = down || chance < chance_of_loss(on.bit_error_rate, bits);
  if (lost) ++totals.lost;
  return lost;
}

double chance_of_loss(double bit_error_rate, std::int64_t bits) {
  return -std::expm1(static_cast<double>(bits) * std::log1p(-bit_error_rate));
}

}  // namespace gradhaul

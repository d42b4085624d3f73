#include "tests/oracles/blocking_ring.h"

namespace gradhaul::oracle {
namespace {

Elements cut(const Elements& whole, Span span) {
  return {whole.begin() + span.first, whole.begin() + span.first + span.count};
}

}  // namespace

void blocking_ring_all_reduce(std::vector<Elements>& ranks, const MessagePlan& plan,
                              const std::vector<std::vector<Rank>>& rings, Reduction reduction) {
  const auto n = static_cast<int>(ranks.size());
  for (int channel = 0; channel < plan.channels(); ++channel) {
    const std::vector<Rank>& ring = rings[static_cast<std::size_t>(channel)];
    const auto at = [&](int position) -> Elements& {
      return ranks[static_cast<std::size_t>(ring[static_cast<std::size_t>(position % n)])];
    };
    for (int step = 0; step < 2 * n - 2; ++step) {
      const bool gathering = step >= n - 1;
      std::vector<Elements> wire;
      wire.reserve(ranks.size());
      const auto chunk_sent_by = [&](int p) { return plan.chunk(channel, (p - step + 2 * n) % n); };
      for (int p = 0; p < n; ++p) wire.push_back(cut(at(p), chunk_sent_by(p)));
      for (int p = 0; p < n; ++p) {
        const Span span = chunk_sent_by(p);
        for (std::int64_t i = 0; i < span.count; ++i) {
          std::uint32_t& mine = at(p + 1)[static_cast<std::size_t>(span.first + i)];
          const std::uint32_t theirs =
              wire[static_cast<std::size_t>(p)][static_cast<std::size_t>(i)];
          const ElementReduction how{plan.datatype(), reduction,
                                     step == n - 2 && reduction == Reduction::kAvg ? n : 1};
          mine = gathering ? theirs : reduced(how, mine, theirs);
        }
      }
    }
  }
}

}  // namespace gradhaul::oracle

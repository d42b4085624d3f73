#include "sim/part_sums.h"

namespace gradhaul {

void PartSums::sum_up() {
  const auto by_key = [](const Entry& a, const Entry& b) { return a.key < b.key; };
  const auto added = entries_.begin() + summed_;
  std::sort(added, entries_.end(), by_key);
  std::inplace_merge(entries_.begin(), added, entries_.end(), by_key);
  auto last = entries_.begin();
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (entry == last) continue;
    if (entry->key == last->key) {
      last->ps += entry->ps;
    } else {
      *++last = *entry;
    }
  }
  if (!entries_.empty()) entries_.erase(last + 1, entries_.end());
  summed_ = static_cast<std::uint32_t>(entries_.size());
  sum_up_at_ = static_cast<std::uint32_t>(std::max(kFewest, entries_.size() + entries_.size() / 2));
}

}  // namespace gradhaul

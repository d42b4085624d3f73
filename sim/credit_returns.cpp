#include "sim/credit_returns.h"

#include <algorithm>

namespace gradhaul {

void CreditReturns::grow() {
  const std::uint32_t capacity = runs_ == nullptr ? 8 : 2 * (mask_ + 1);
  auto larger = std::make_unique<Kept[]>(capacity);
  for (std::int32_t i = 0; i < count_; ++i) larger[static_cast<std::size_t>(i)] = run(i);
  runs_ = std::move(larger);
  mask_ = capacity - 1;
  head_ = 0;
}

void CreditReturns::add(const CreditRun& added) {
  if (runs_ == nullptr || count_ > static_cast<std::int32_t>(mask_)) grow();
  // Nearly always the last: packets that left by different links may come back crosswise.
  std::int32_t place = count_++;
  while (place > 0 && run(place - 1).after(added)) {
    run(place) = run(place - 1);
    --place;
  }
  run(place) = {added.first, static_cast<std::int32_t>(added.spacing),
                static_cast<std::int32_t>(added.units), added.culprit, added.order};
  coming_ += static_cast<std::int32_t>(added.units);
  GRADHAUL_ASSERT(known() <= window_, "no more credits than the receiver has room for");
}

void CreditReturns::absorb(std::int64_t now) {
  while (count_ > 0) {
    Kept& front = run(0);
    if (front.first > now) return;
    const std::int32_t back = front.back_by(now);
    available_ += back;
    coming_ -= back;
    last_culprit_ = front.culprit;
    if (back < front.units) {
      front.units -= back;
      front.first += std::int64_t{front.spacing} * back;
      return;
    }
    drop_front();
  }
}

ResourceId CreditReturns::culprit(std::int64_t now) const {
  ResourceId culprit = last_culprit_;
  for (std::int32_t i = 0; i < count_ && run(i).first <= now; ++i) culprit = run(i).culprit;
  return culprit;
}

std::int64_t CreditReturns::gapless(std::int64_t now, std::int64_t unit_time,
                                    std::int64_t units) const {
  std::int64_t found = std::min<std::int64_t>(units, available_);
  for (std::int32_t i = 0; i < count_ && found < units; ++i) {
    const Kept& next = run(i);
    const std::int64_t slack = now + found * unit_time - next.first;
    if (slack < 0) return found;
    std::int64_t in_time = next.units;
    if (next.spacing > unit_time) {
      in_time = std::min(in_time, slack / (next.spacing - unit_time) + 1);
    }
    found += in_time;
    if (in_time < next.units) break;
  }
  return std::min(found, units);
}

std::int64_t CreditReturns::start_for(std::int64_t now, std::int64_t unit_time,
                                      std::int64_t units) const {
  std::int64_t start = now;
  std::int64_t found = available_;
  for (std::int32_t i = 0; i < count_ && found < units; ++i) {
    const Kept& next = run(i);
    const std::int64_t used = std::min<std::int64_t>(next.units, units - found);
    start = std::max(start, next.first - found * unit_time);
    const std::int64_t last = found + used - 1;
    start = std::max(start, next.first + next.spacing * (used - 1) - last * unit_time);
    found += used;
  }
  return start;
}

std::int64_t CreditReturns::time_of(std::int64_t now, std::int64_t units) const {
  std::int64_t found = available_;
  for (std::int32_t i = 0; i < count_; ++i) {
    if (found >= units) break;
    const Kept& next = run(i);
    const std::int64_t used = std::min<std::int64_t>(next.units, units - found);
    now = std::max(now, next.first + next.spacing * (used - 1));
    found += used;
  }
  return now;
}

void CreditReturns::append_state(StateWords& words) const {
  const std::int64_t now = words.now();
  std::int64_t usable = available_;
  std::int32_t i = 0;
  std::int64_t back = 0;  // of the run that is partly back
  for (; i < count_ && run(i).first <= now; ++i) {
    const Kept& past = run(i);
    back = past.back_by(now);
    usable += back;
    if (back < past.units) break;
    back = 0;
  }
  words.add(usable, culprit(now), count_ - i);
  for (; i < count_; ++i) {
    const Kept& coming = run(i);
    words.add_time(coming.first + back * coming.spacing);
    words.add(coming.units - back, coming.spacing, coming.culprit, coming.order);
    back = 0;
  }
}

void CreditReturns::take_coming(std::int64_t units) {
  GRADHAUL_ASSERT(units <= known(), "credits are never negative");
  auto left = static_cast<std::int32_t>(units) - available_;
  available_ = 0;
  coming_ -= left;
  while (left > 0) {
    Kept& front = run(0);
    const std::int32_t used = std::min(left, front.units);
    front.units -= used;
    front.first += std::int64_t{front.spacing} * used;
    left -= used;
    if (front.units == 0) drop_front();
  }
}

}  // namespace gradhaul

#include "sim/credit_returns.h"

#include <algorithm>

namespace gradhaul {

void CreditReturns::add(const CreditRun& added) {
  if (count_ == static_cast<std::int64_t>(runs_.size())) {
    std::vector<CreditRun> larger(std::max<std::size_t>(8, runs_.size() * 2));
    for (std::int64_t i = 0; i < count_; ++i) larger[static_cast<std::size_t>(i)] = run(i);
    runs_ = std::move(larger);
    head_ = 0;
  }
  // Nearly always the last: packets that left by different links may come back crosswise.
  std::int64_t place = count_++;
  while (place > 0 && run(place - 1).first > added.first) {
    run(place) = run(place - 1);
    --place;
  }
  run(place) = added;
  coming_ += added.units;
  GRADHAUL_ASSERT(known() <= window_, "no more credits than the receiver has room for");
}

void CreditReturns::absorb(std::int64_t now) {
  while (count_ > 0) {
    CreditRun& front = run(0);
    if (front.first > now) return;
    const std::int64_t last = front.first + front.spacing * (front.units - 1);
    std::int64_t back = front.units;
    if (last > now) back = (now - front.first) / front.spacing + 1;
    available_ += back;
    coming_ -= back;
    last_culprit_ = front.culprit;
    if (back < front.units) {
      front.units -= back;
      front.first += front.spacing * back;
      return;
    }
    drop_front();
  }
}

std::int64_t CreditReturns::gapless(std::int64_t now, std::int64_t unit_time,
                                    std::int64_t units) const {
  std::int64_t found = std::min(units, available_);
  for (std::int64_t i = 0; i < count_ && found < units; ++i) {
    const CreditRun& next = run(i);
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
  for (std::int64_t i = 0; i < count_ && found < units; ++i) {
    const CreditRun& next = run(i);
    const std::int64_t used = std::min(next.units, units - found);
    start = std::max(start, next.first - found * unit_time);
    const std::int64_t last = found + used - 1;
    start = std::max(start, next.first + next.spacing * (used - 1) - last * unit_time);
    found += used;
  }
  return start;
}

std::int64_t CreditReturns::time_of(std::int64_t now, std::int64_t units) const {
  std::int64_t found = available_;
  for (std::int64_t i = 0; i < count_; ++i) {
    if (found >= units) break;
    const CreditRun& next = run(i);
    const std::int64_t used = std::min(next.units, units - found);
    now = std::max(now, next.first + next.spacing * (used - 1));
    found += used;
  }
  return now;
}

void CreditReturns::take_coming(std::int64_t units) {
  GRADHAUL_ASSERT(units <= known(), "credits are never negative");
  const std::int64_t at_hand = std::min(units, available_);
  available_ -= at_hand;
  units -= at_hand;
  coming_ -= units;
  while (units > 0) {
    CreditRun& front = run(0);
    const std::int64_t used = std::min(units, front.units);
    front.units -= used;
    front.first += front.spacing * used;
    units -= used;
    if (front.units == 0) drop_front();
  }
}

}  // namespace gradhaul

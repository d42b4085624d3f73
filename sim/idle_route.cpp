#include "sim/idle_route.h"

#include <algorithm>

#include "core/infiniband_framing.h"

namespace gradhaul {

IdleRoute::IdleRoute(const Fabric& fabric, const Route& route, TrafficClass traffic_class) {
  for (std::size_t i = 0; i < route.size(); ++i) {
    Stage stage;
    stage.link = &fabric.link(route[i].link);
    stage.form = route[i];
    stage.window = stage.link->window[static_cast<int>(traffic_class)];
    stage.available = stage.window;
    if (i + 1 < route.size()) {
      const RouteHop& next = route[i + 1];
      const bool slower = fabric.link(next.link).rate <= stage.link->rate;
      stage.next_is_slower =
          slower && next.unit == route[i].unit && next.overhead >= route[i].overhead;
      stage.next_wants_whole = !slower && stage.link->network;
    }
    stages_.push_back(std::move(stage));
  }
}

std::int64_t IdleRoute::units_of(const Stage& stage, const Train& train) {
  const std::int64_t unit = stage.form.unit.count;
  if (unit == 0) return train.units;
  return train.payload <= unit ? 1 : (train.payload + unit - 1) / unit;
}

Bytes IdleRoute::wire_bytes(const Stage& stage, const Train& train) {
  return {train.payload + units_of(stage, train) * stage.form.overhead.count + train.extra};
}

// When a train that could start at `start` has the credits it needs; takes them.
std::int64_t IdleRoute::take_credits(Stage& stage, const Train& train, std::int64_t start) {
  if (stage.window == 0) return start;
  const std::int64_t units = units_of(stage, train);
  const bool blocks = stage.link->kind == LinkKind::kInfiniband;
  const std::int64_t needed =
      std::min(stage.window, blocks ? credit_blocks(wire_bytes(stage, train)) : units);
  // PCIe: unit by unit as the train goes; else all at once.
  const bool by_unit = !blocks && stage.form.unit.count > 0;
  const std::int64_t unit_time =
      by_unit ? serialisation_time(wire_bytes(stage, train), stage.link->rate).ps / units : 0;
  std::int64_t found = std::min(stage.available, needed);
  stage.available -= found;
  while (found < needed) {
    GRADHAUL_ASSERT(!stage.coming.empty(), "every credit comes back");
    Credits& run = stage.coming.front();
    const std::int64_t used = std::min(run.units, needed - found);
    start = std::max(start, run.first - found * unit_time);
    start = std::max(start, run.first + run.spacing * (used - 1) - (found + used - 1) * unit_time);
    run.first += run.spacing * used;
    run.units -= used;
    found += used;
    if (run.units == 0) stage.coming.pop_front();
  }
  stage.taken = needed;
  return start;
}

void IdleRoute::give_back(Stage& stage, std::int64_t next_start,
                          std::int64_t next_serialisation) const {
  if (stage.window == 0) return;
  const Link& link = *stage.link;
  if (link.kind == LinkKind::kPcie) {
    const std::int64_t back = std::max<std::int64_t>(0, (link.credit_return - link.latency).ps);
    stage.coming.push_back({next_start + back, next_serialisation / stage.taken, stage.taken});
  } else {
    stage.coming.push_back(
        {next_start + next_serialisation + link.credit_return.ps, 0, stage.taken});
  }
}

IdleRoute::Passage IdleRoute::pass(const Train& train, std::int64_t ready) {
  Passage passage{ready, ready, ready, ready};
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    Stage& stage = stages_[i];
    const std::int64_t start = take_credits(stage, train, std::max(ready, stage.free));
    if (start != stage.free) stage.carry = {};
    const std::int64_t time =
        serialisation_time(wire_bytes(stage, train), stage.link->rate, stage.carry).ps;
    stage.free = start + time;
    stage.busy += time;
    if (i == 0) passage.first_start = start;
    if (i == 0) passage.first_end = start + time;
    if (i > 0) give_back(stages_[i - 1], start, time);
    if (i + 1 < stages_.size()) {
      std::int64_t wait = 0;
      if (stage.next_wants_whole) {
        wait = time;
      } else if (!stage.next_is_slower) {
        const Stage& next = stages_[i + 1];
        const std::int64_t there = serialisation_time(wire_bytes(next, train), next.link->rate).ps;
        wait = std::max<std::int64_t>(0, time - there);
      }
      ready = start + stage.link->latency.ps + wait;
      continue;
    }
    passage.last_start = start;
    passage.delivered = start + time + stage.link->latency.ps;
    if (stage.window > 0 && !keeps_last_buffer_) {
      const bool pcie = stage.link->kind == LinkKind::kPcie;
      stage.coming.push_back({(pcie ? start : passage.delivered) + stage.link->credit_return.ps,
                              pcie ? time / stage.taken : 0, stage.taken});
    }
  }
  return passage;
}

void IdleRoute::release_last(std::int64_t time) {
  if (stages_.empty() || stages_.back().window == 0) return;
  Stage& last = stages_.back();
  last.coming.push_back({time + last.link->credit_return.ps, 0, last.taken});
}

Duration IdleRoute::latency() const {
  Duration sum;
  for (const Stage& stage : stages_) sum += stage.link->latency;
  return sum;
}

const Link* IdleRoute::busiest() const {
  const Stage* most = nullptr;
  for (const Stage& stage : stages_) {
    if (most == nullptr || stage.busy > most->busy) most = &stage;
  }
  return most == nullptr ? nullptr : most->link;
}

std::int64_t IdleRoute::busiest_time() const {
  std::int64_t most = 0;
  for (const Stage& stage : stages_) most = std::max(most, stage.busy);
  return most;
}

}  // namespace gradhaul

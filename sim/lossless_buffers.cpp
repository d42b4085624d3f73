#include "sim/lossless_buffers.h"

#include <algorithm>
#include <utility>

#include "core/assert.h"
#include "core/roce_framing.h"

namespace gradhaul {
LosslessBuffers::LosslessBuffers(const Fabric& fabric) {
  const std::vector<Link>& links = fabric.links();
  const bool any = std::any_of(links.begin(), links.end(),
                               [](const Link& link) { return link.pause.lossless(); });
  if (!any) return;
  buffers_.resize(links.size());
  for (std::size_t i = 0; i < links.size(); ++i) {
    const PauseRules& rules = links[i].pause;
    buffers_[i].rules = rules;
    if (!rules.lossless()) continue;
    buffers_[i].renewal = pause_renewal(links[i].rate).ps;
    if (rules.pool < 0) continue;
    pools_.resize(std::max(pools_.size(), static_cast<std::size_t>(rules.pool) + 1));
    Pool& pool = pools_[static_cast<std::size_t>(rules.pool)];
    pool.links.push_back(static_cast<LinkId>(i));
    pool.alpha = rules.alpha;
    pool.shared = rules.shared.count;
    // u <= alpha (shared - u), for one port that holds all there is.
    pool.harmless = static_cast<std::int64_t>(static_cast<double>(pool.shared) * pool.alpha /
                                              (1 + pool.alpha)) -
                    1;
  }
}

LosslessBuffers::Pool* LosslessBuffers::pool_of(const Buffer& buffer) {
  const std::int32_t pool = buffer.rules.pool;
  return pool < 0 ? nullptr : &pools_[static_cast<std::size_t>(pool)];
}

std::int64_t LosslessBuffers::unpaused(LinkId link) const {
  const PauseRules& rules = buffer(link).rules;
  if (rules.pool < 0) return std::max<std::int64_t>(1, rules.xoff.count);
  const Pool& pool = pools_[static_cast<std::size_t>(rules.pool)];
  return std::max<std::int64_t>(1, pool.harmless / static_cast<std::int64_t>(pool.links.size()));
}

// Takes in what has come and gone by `now`.
void LosslessBuffers::advance(Buffer& buffer, std::int64_t now) {
  const std::int64_t before = buffer.held + buffer.coming_bytes;
  while (true) {
    const std::int64_t gone = buffer.leaving.empty() ? INT64_MAX : buffer.leaving.front().time;
    const std::int64_t come = buffer.coming.empty() ? INT64_MAX : buffer.coming.front().time;
    if (std::min(gone, come) > now) break;
    if (gone <= come) {
      buffer.held -= buffer.leaving.front().bytes;
      buffer.leaving.pop_front();
      continue;
    }
    buffer.held += buffer.coming.front().bytes;
    buffer.coming_bytes -= buffer.coming.front().bytes;
    buffer.coming.pop_front();
    buffer.most = std::max(buffer.most, buffer.held);
    GRADHAUL_ASSERT(!buffer.pausing || buffer.rules.spills ||
                        buffer.held - buffer.mark <= buffer.rules.headroom.count,
                    "a lossless port drops nothing: its headroom suffices");
  }
  // What is taken at once leaves as it comes in.
  GRADHAUL_ASSERT(buffer.held >= 0, "no more leaves a buffer than has come into it");
  if (Pool* pool = pool_of(buffer)) pool->expected += buffer.held + buffer.coming_bytes - before;
}

void LosslessBuffers::advance_all(Pool& pool, std::int64_t now) {
  for (const LinkId link : pool.links) advance(buffer(link), now);
}

void LosslessBuffers::ask(LinkId link, std::int64_t time) {
  Buffer& asked = buffer(link);
  if (asked.look <= time) return;
  asked.look = time;
  looks_.push_back({link, time});
}

// For the next look that may find something.
void LosslessBuffers::ask_again(LinkId link) {
  Buffer& asked = buffer(link);
  const Pool* pool = pool_of(asked);
  const bool may_fill =
      !asked.pausing &&
      (pool != nullptr ? pool->near : asked.held + asked.coming_bytes > asked.rules.xoff.count);
  if (may_fill && !asked.coming.empty()) ask(link, asked.coming.front().time);
  const bool may_empty = pool != nullptr ? pool->pausing > 0 : asked.pausing;
  if (may_empty && !asked.leaving.empty()) ask(link, asked.leaving.front().time);
}

void LosslessBuffers::expect(LinkId link, std::int64_t now, std::int64_t time, std::int64_t bytes) {
  Buffer& filled = buffer(link);
  advance(filled, now);
  GRADHAUL_ASSERT(filled.coming.empty() || filled.coming.back().time <= time,
                  "frames of a link come in their order");
  filled.coming.push_back({time, bytes});
  filled.coming_bytes += bytes;
  Pool* pool = pool_of(filled);
  if (pool != nullptr) {
    pool->expected += bytes;
    if (pool->expected > pool->harmless) advance_all(*pool, now);
    const bool was_near = pool->near;
    pool->near = pool->expected > pool->harmless;
    if (pool->near && !was_near) {
      for (const LinkId other : pool->links) ask_again(other);
    }
  }
  ask_again(link);
}

bool LosslessBuffers::fits(LinkId link, std::int64_t now, std::int64_t time, std::int64_t bytes) {
  Buffer& filled = buffer(link);
  Pool* pool = pool_of(filled);
  if (pool != nullptr) {
    advance_all(*pool, now);
  } else {
    advance(filled, now);
  }
  std::int64_t mark = filled.rules.xoff.count;
  if (pool != nullptr) mark = filled.pausing ? filled.mark : mark_of(*pool);
  std::int64_t held = filled.held + filled.coming_bytes + bytes;
  for (const Change& gone : filled.leaving) held -= gone.time <= time ? gone.bytes : 0;
  return held <= mark + filled.rules.headroom.count;
}

void LosslessBuffers::leave(LinkId link, std::int64_t now, std::int64_t time, std::int64_t bytes,
                            ResourceId culprit, bool stormed) {
  Buffer& emptied = buffer(link);
  if (emptied.storms == 0) emptied.culprit = culprit;
  emptied.stormed = emptied.stormed || stormed;
  // Nearly always the last: frames of one link may go out by several.
  std::deque<Change>& leaving = emptied.leaving;
  leaving.push_back({time, bytes});
  for (std::size_t i = leaving.size() - 1; i > 0 && leaving[i - 1].time > time; --i) {
    std::swap(leaving[i - 1], leaving[i]);
  }
  advance(emptied, now);
  ask_again(link);
}

// What a port holds of the shared buffer.
std::int64_t LosslessBuffers::share_of_pool(const Buffer& buffer) {
  return buffer.pausing ? std::min(buffer.held, buffer.mark) : buffer.held;
}

std::int64_t LosslessBuffers::mark_of(Pool& pool) const {
  std::int64_t used = 0;
  for (const LinkId link : pool.links) used += share_of_pool(buffer(link));
  const std::int64_t free = std::max<std::int64_t>(0, pool.shared - used);
  return static_cast<std::int64_t>(pool.alpha * static_cast<double>(free));
}

void LosslessBuffers::order(LinkId link, bool pause, std::int64_t mark, std::int64_t now,
                            std::vector<Order>& orders) {
  Buffer& ordering = buffer(link);
  ordering.pausing = pause;
  ordering.mark = mark;
  if (Pool* pool = pool_of(ordering)) pool->pausing += pause ? 1 : -1;
  if (ordering.storms > 0) return;
  if (pause) ordering.stormed = false;
  ++ordering.frames;
  if (pause) {
    ordering.since = now;
  } else {
    ordering.frames += (now - ordering.since) / ordering.renewal;
  }
  orders.push_back({link, pause});
}

// What the buffer itself would have ordered meanwhile makes no difference; if it still has the
// transmitter pause at the end, that goes on.
void LosslessBuffers::storm(LinkId link, std::int64_t now, bool begins, ResourceId culprit,
                            std::vector<Order>& orders) {
  Buffer& paused = buffer(link);
  paused.storms += begins ? 1 : -1;
  if (begins ? paused.storms > 1 : paused.storms > 0) return;
  if (begins) {
    paused.culprit = culprit;
    paused.stormed = true;
  }
  if (begins && !paused.pausing) paused.since = now;
  if (paused.pausing) return;
  ++paused.frames;
  if (!begins) paused.frames += (now - paused.since) / paused.renewal;
  orders.push_back({link, begins});
}

void LosslessBuffers::look_at_own(LinkId link, std::int64_t now, std::vector<Order>& orders) {
  Buffer& seen = buffer(link);
  advance(seen, now);
  if (!seen.pausing && seen.held > seen.rules.xoff.count) {
    order(link, true, seen.rules.xoff.count, now, orders);
  } else if (seen.pausing && seen.held <= seen.rules.xon.count) {
    order(link, false, 0, now, orders);
  }
  ask_again(link);
}

// The port's own mark, and all those that may go on now that something has left.
void LosslessBuffers::look_at_pool(LinkId link, Pool& pool, std::int64_t now,
                                   std::vector<Order>& orders) {
  advance_all(pool, now);
  const std::int64_t mark = mark_of(pool);
  Buffer& seen = buffer(link);
  if (!seen.pausing && seen.held > mark) order(link, true, mark, now, orders);
  for (const LinkId other : pool.links) {
    const Buffer& paused = buffer(other);
    if (!paused.pausing) continue;
    const std::int64_t below = (paused.rules.xoff - paused.rules.xon).count;
    if (paused.held <= std::max<std::int64_t>(0, mark - below)) order(other, false, 0, now, orders);
  }
  pool.near = pool.expected > pool.harmless;
  for (const LinkId other : pool.links) ask_again(other);
}

void LosslessBuffers::look(LinkId link, std::int64_t now, std::vector<Order>& orders) {
  Buffer& seen = buffer(link);
  if (seen.look == now) seen.look = INT64_MAX;
  if (Pool* pool = pool_of(seen)) {
    look_at_pool(link, *pool, now, orders);
  } else {
    look_at_own(link, now, orders);
  }
}

void LosslessBuffers::hold(LinkId link, std::int64_t now, bool paused) {
  Buffer& held = buffer(link);
  if (paused) {
    held.held_up_since = now;
  } else {
    held.held_up += now - held.held_up_since;
    held.held_up_since = -1;
    held.resumed = now;
  }
}

LosslessBuffers::Totals LosslessBuffers::totals(LinkId link, std::int64_t now) const {
  const Buffer& asked = buffer(link);
  Totals totals = asked.repeated;
  totals.frames += asked.frames;
  totals.paused += asked.held_up + (asked.held_up_since >= 0 ? now - asked.held_up_since : 0);
  return totals;
}

void LosslessBuffers::add_repeated(LinkId link, const Totals& more) {
  Totals& repeated = buffer(link).repeated;
  repeated.frames += more.frames;
  repeated.paused += more.paused;
}

void LosslessBuffers::append_state(StateWords& words, LinkId link) const {
  const Buffer& kept = buffer(link);
  // As if everything up to now had been taken in.
  std::int64_t held = kept.held;
  std::size_t come = 0;
  std::size_t gone = 0;
  while (come < kept.coming.size() && kept.coming[come].time <= words.now()) {
    held += kept.coming[come++].bytes;
  }
  while (gone < kept.leaving.size() && kept.leaving[gone].time <= words.now()) {
    held -= kept.leaving[gone++].bytes;
  }
  words.add(held, kept.pausing, kept.storms, kept.mark, kept.culprit, kept.stormed,
            kept.coming.size() - come, kept.leaving.size() - gone);
  words.add_time(kept.look);
  if (kept.pausing) words.add_time(kept.since);
  for (; come < kept.coming.size(); ++come) {
    words.add_time(kept.coming[come].time);
    words.add(kept.coming[come].bytes);
  }
  for (; gone < kept.leaving.size(); ++gone) {
    words.add_time(kept.leaving[gone].time);
    words.add(kept.leaving[gone].bytes);
  }
}

}  // namespace gradhaul

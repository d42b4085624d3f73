#include "sim/dropping_buffers.h"

#include <algorithm>

#include "core/assert.h"

namespace gradhaul {

DroppingBuffers::DroppingBuffers(const Fabric& fabric) {
  const std::vector<Link>& links = fabric.links();
  const auto drops = [](const Link& link) { return link.drop.any(); };
  if (std::none_of(links.begin(), links.end(), drops)) return;
  queues_.resize(2 * links.size());
  for (std::size_t i = 0; i < links.size(); ++i) {
    const DropRules& rules = links[i].drop;
    if (rules.pool < 0) continue;
    queues_[i].pool = rules.pool;
    pools_.resize(std::max(pools_.size(), static_cast<std::size_t>(rules.pool) + 1));
    pools_[static_cast<std::size_t>(rules.pool)] = {rules.shared.count, rules.alpha};
  }
  for (std::size_t i = 0; i < links.size(); ++i) {
    const DropRules& rules = links[i].drop;
    if (rules.receive.count == 0) continue;
    queues_[arriving_by(static_cast<LinkId>(i))].pool = static_cast<std::int32_t>(pools_.size());
    pools_.push_back({rules.receive.count, 0});
  }
}

bool DroppingBuffers::keeps(std::size_t queue, std::int64_t now, std::int64_t bytes) {
  Pool& pool = pool_of(queue);
  while (!pool.leaving.empty() && pool.leaving.top().time <= now) {
    const Leaving& gone = pool.leaving.top();
    queues_[gone.queue].held -= gone.bytes;
    pool.held -= gone.bytes;
    GRADHAUL_ASSERT(queues_[gone.queue].held >= 0, "no more leaves a buffer than it has kept");
    pool.leaving.pop();
  }
  Queue& asked = queues_[queue];
  const std::int64_t free = pool.size - pool.held;
  if (bytes > free) return false;
  if (pool.alpha > 0 &&
      static_cast<double>(asked.held + bytes) > pool.alpha * static_cast<double>(free)) {
    return false;
  }
  asked.held += bytes;
  pool.held += bytes;
  asked.most = std::max(asked.most, asked.held);
  return true;
}

}  // namespace gradhaul

#include "sim/nic_contexts.h"

#include <algorithm>
#include <set>

namespace gradhaul {

bool ContextCache::use(std::int32_t context) {
  if (capacity_ == 0) return true;
  const auto known = places_.find(context);
  const bool there = known != places_.end() || places_.size() < capacity_;
  if (known != places_.end()) {
    recent_.splice(recent_.begin(), recent_, known->second);
    return true;
  }
  if (places_.size() == capacity_) {
    places_.erase(recent_.back());
    recent_.pop_back();
  }
  recent_.push_front(context);
  places_[context] = recent_.begin();
  return there;
}

std::int64_t NicContexts::fetched(std::int64_t now) {
  ++misses_;
  return fetches_ = std::max(now, fetches_) + fetch_;
}

std::int64_t NicContexts::find(std::int64_t now, std::int32_t queue_pair, std::int32_t region) {
  if (!queue_pairs_.use(queue_pair)) now = fetched(now);
  if (region >= 0 && !regions_.use(region)) now = fetched(now);
  return now;
}

bool may_miss_contexts(const Wiring& wiring, const Cluster& cluster) {
  const NicModel& nic = cluster.node.nic;
  if (cluster.network.tcp || (nic.queue_pair_cache == 0 && nic.memory_region_cache == 0)) {
    return false;
  }
  const auto nics = static_cast<std::size_t>(cluster.nodes * cluster.node.nic_count);
  std::vector<std::int64_t> queue_pairs(nics);
  std::vector<std::int64_t> received(nics);
  std::vector<std::set<std::int32_t>> sent(nics);
  for (const WiredConnection& wired : wiring.connections) {
    for (const Path* path : {&wired.data, &wired.credit}) {
      if (path->kind != PathKind::kNic) continue;
      const auto from = static_cast<std::size_t>(path->injector);
      const auto to = static_cast<std::size_t>(nic_injector(
          cluster.node, path->destination_gpu / cluster.node.gpu_count, path->destination_nic));
      queue_pairs[from] += path->queue_pairs;
      queue_pairs[to] += path->queue_pairs;
      if (path == &wired.credit) continue;
      sent[from].insert(path->source_gpu);
      ++received[to];
    }
  }
  for (std::size_t i = 0; i < nics; ++i) {
    const auto regions = static_cast<std::int64_t>(sent[i].size()) + received[i];
    if (nic.queue_pair_cache > 0 && queue_pairs[i] > nic.queue_pair_cache) return true;
    if (nic.memory_region_cache > 0 && regions > nic.memory_region_cache) return true;
  }
  return false;
}

}  // namespace gradhaul

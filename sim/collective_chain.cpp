#include "sim/collective_chain.h"

#include <algorithm>

#include "core/collective_algorithms.h"
#include "sim/connection_traffic.h"
#include "sim/played_chain.h"

namespace gradhaul {
namespace {

class ChainFinder {
 public:
  ChainFinder(const PredictionRequest& request, const Placement& placement, const Schedule& chunks,
              HopLatency& latency)
      : placement_(placement),
        cluster_(request.cluster),
        chunks_(chunks),
        latency_(latency),
        element_(size_of(request.workload.datatype)),
        slot_(element_ * elements_of_slot(request)) {}

  CollectiveChain longest(const PredictionRequest& request) {
    const Collective collective = request.workload.collective;
    const Algorithm algorithm = running_algorithm(collective, request.communication.algorithm);
    const bool trees = runs_trees(collective, algorithm) && collective == Collective::kAllReduce;
    for (int channel = 0; channel < chunks_.channels(); ++channel) {
      if (algorithm == Algorithm::kRing && collective != Collective::kBroadcast) {
        follow_ring(channel, collective);
      } else if (trees) {
        for (int lane = 0; lane < chunks_.lanes(); lane += 2) follow_tree(channel, lane);
      } else {
        follow_pairs(channel);
      }
    }
    return std::move(longest_);
  }

 private:
  Hop hop(int channel, Rank source, Rank destination) const {
    return hop_between(placement_, cluster_, channel, source, destination);
  }
  Bytes first_slice(Bytes chunk) const { return std::min(chunk, slot_); }
  Duration time_of(const ChainStep& step, Bytes slice) {
    return latency_.message(step.hop, slice).arrived + work_of(step, slice);
  }
  Duration work_of(const ChainStep& step, Bytes slice) const {
    return latency_.kernel(step.kind, slice) * step.operations;
  }
  Duration pace_of(const ChainStep& step, Bytes slice) {
    return std::max(latency_.message(step.hop, slice).spacing, work_of(step, slice));
  }
  void offer(const std::vector<ChainStep>& steps, Bytes chunk);
  void follow_ring(int channel, Collective collective);
  void follow_tree(int channel, int lane);
  Duration climb(int channel, int lane, Rank rank, Bytes slice, std::vector<ChainStep>& steps);
  Duration descend(int channel, int lane, Rank rank, Bytes slice, std::vector<ChainStep>& steps);
  void follow_pairs(int channel);

  const Placement& placement_;
  const Cluster& cluster_;
  const Schedule& chunks_;
  HopLatency& latency_;
  Bytes element_;
  Bytes slot_;
  CollectiveChain longest_;
};

void ChainFinder::offer(const std::vector<ChainStep>& steps, Bytes chunk) {
  CollectiveChain chain;
  chain.slice = first_slice(chunk);
  chain.slices = (chunk.count + slot_.count - 1) / slot_.count;
  chain.full_slices = std::max<std::int64_t>(1, chunk.count / slot_.count);
  for (const ChainStep& step : steps) {
    chain.total += time_of(step, chain.slice);
    chain.pace = std::max(chain.pace, pace_of(step, chain.slice));
  }
  chain.total += chain.pace * (chain.full_slices - 1);
  chain.likely = chain.total;
  if (chunk > slot_) {
    const Int128 rest = Int128{chain.pace.ps} * (chunk.count % slot_.count);
    chain.likely += Duration{static_cast<std::int64_t>(rest / slot_.count)};
  }
  if (chain.total <= longest_.total) return;
  chain.steps = steps;
  longest_ = std::move(chain);
}

// The chain from each place of the ring, by sums over the hops; only the longest
// of a channel is put together.
void ChainFinder::follow_ring(int channel, Collective collective) {
  const std::vector<Rank>& ring = placement_.rings[static_cast<std::size_t>(channel)];
  const std::size_t n = ring.size();
  const std::size_t reductions = collective == Collective::kAllGather ? 0 : n - 1;
  const std::size_t copies = collective == Collective::kReduceScatter ? 0 : n - 1;
  const std::size_t steps_of_chain = reductions + copies;
  std::vector<Hop> hops;
  for (std::size_t p = 0; p < n; ++p) hops.push_back(hop(channel, ring[p], ring[(p + 1) % n]));
  std::int64_t best = -1;
  std::size_t best_place = 0;
  Bytes best_chunk;
  Bytes summed_for;
  std::vector<std::int64_t> sums(3 * n, 0);
  for (std::size_t p = 0; p < n; ++p) {
    const Bytes chunk = element_ * chunks_.item(ring[p], channel, 0, 0).span.count;
    if (chunk.count == 0) continue;
    const Bytes slice = first_slice(chunk);
    if (slice != summed_for) {
      for (std::size_t i = 0; i + 1 < sums.size(); ++i) {
        sums[i + 1] = sums[i] + latency_.message(hops[i % n], slice).arrived.ps;
      }
      summed_for = slice;
    }
    const std::int64_t whole = sums[p + steps_of_chain] - sums[p];
    if (whole > best) {
      best = whole;
      best_place = p;
      best_chunk = chunk;
    }
  }
  if (best < 0) return;
  std::vector<ChainStep> steps;
  for (std::size_t i = 0; i < steps_of_chain; ++i) {
    steps.push_back(
        {hops[(best_place + i) % n], i < reductions ? ReduceKind::kReduce : ReduceKind::kCopy, 1});
  }
  offer(steps, best_chunk);
}

// From the leaf whose contribution is at `rank` last; the rank's own kernel included.
Duration ChainFinder::climb(int channel, int lane, Rank rank, Bytes slice,
                            std::vector<ChainStep>& steps) {
  const Item item = chunks_.item(rank, channel, lane, 0);
  Duration latest;
  for (int i = 0; i < item.receive_count; ++i) {
    const Rank child = item.receives[static_cast<std::size_t>(i)].peer;
    std::vector<ChainStep> below;
    const ChainStep step{hop(channel, child, rank), ReduceKind::kReduce, item.receive_count};
    const Duration time = climb(channel, lane, child, slice, below) + time_of(step, slice);
    if (time <= latest) continue;
    latest = time;
    below.push_back(step);
    steps = std::move(below);
  }
  return latest;
}

// To the leaf that has the sum last.
Duration ChainFinder::descend(int channel, int lane, Rank rank, Bytes slice,
                              std::vector<ChainStep>& steps) {
  const Item item = chunks_.item(rank, channel, lane, 0);
  Duration latest;
  for (int i = 0; i < item.send_count; ++i) {
    const Rank child = item.sends[static_cast<std::size_t>(i)].peer;
    std::vector<ChainStep> below;
    const ChainStep step{hop(channel, rank, child), ReduceKind::kCopy, 1};
    const Duration time = time_of(step, slice) + descend(channel, lane, child, slice, below);
    if (time <= latest) continue;
    latest = time;
    below.insert(below.begin(), step);
    steps = std::move(below);
  }
  return latest;
}

void ChainFinder::follow_tree(int channel, int lane) {
  Rank root = 0;
  while (root < chunks_.ranks() && chunks_.item(root, channel, lane, 0).send_count > 0) ++root;
  GRADHAUL_ASSERT(root < chunks_.ranks(), "a tree has a root");
  const Bytes chunk = element_ * chunks_.item(root, channel, lane, 0).span.count;
  if (chunk.count == 0) return;
  std::vector<ChainStep> steps;
  std::vector<ChainStep> down;
  climb(channel, lane, root, first_slice(chunk), steps);
  descend(channel, lane + 1, root, first_slice(chunk), down);
  steps.insert(steps.end(), down.begin(), down.end());
  offer(steps, chunk);
}

// Nodes are alike, so the first one's hops stand for all.
void ChainFinder::follow_pairs(int channel) {
  for (Rank rank = 0; rank < placement_.ranks_per_node; ++rank) {
    const std::int64_t items = chunks_.items(rank, channel, 0);
    for (std::int64_t i = 0; i < items; ++i) {
      const ItemSend send = chunks_.item(rank, channel, 0, i).sends[0];
      if (send.span.count == 0) continue;
      offer({{hop(channel, rank, send.peer), ReduceKind::kCopy, 1}}, element_ * send.span.count);
    }
  }
}

}  // namespace

CollectiveChain longest_chain(const PredictionRequest& request, const Placement& placement,
                              const Schedule& chunks, HopLatency& latency) {
  const Collective collective = request.workload.collective;
  const Algorithm algorithm = running_algorithm(collective, request.communication.algorithm);
  const bool shaped = algorithm == Algorithm::kPairwise ||
                      (algorithm == Algorithm::kRing && collective != Collective::kBroadcast) ||
                      (collective == Collective::kAllReduce && runs_trees(collective, algorithm));
  if (!shaped) return longest_played_chain(request, placement, chunks, latency);
  return ChainFinder(request, placement, chunks, latency).longest(request);
}

}  // namespace gradhaul

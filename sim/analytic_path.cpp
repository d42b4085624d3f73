#include "sim/analytic_path.h"

#include <map>
#include <utility>

namespace gradhaul {
namespace {

class AnalyticPath {
 public:
  AnalyticPath(const ResourceLoad& load, HopLatency& latency) : load_(load), latency_(latency) {}

  void add(ResourceId resource, Cause cause, std::int64_t ps) {
    if (ps == 0) return;
    parts_[{resource, cause}] += ps;
    total_ += ps;
  }
  // One slice over a hop and through the receiver's kernel.
  void add_step(const ChainStep& step, Bytes slice) {
    const Trace trace = latency_.message_parts(step.hop, slice);
    for (int i = 0; i < trace.count; ++i) {
      const TracePart& part = trace.parts[static_cast<std::size_t>(i)];
      add(part.resource, part.cause, part.ps);
    }
    add(kernel_of(step), Cause::kBusy, work_of(step, slice));
  }
  // All steps, and the slices behind the first at the pace of the slowest stage.
  void add_chain(const CollectiveChain& chain) {
    const std::int64_t before = total_;
    for (const ChainStep& step : chain.steps) add_step(step, chain.slice);
    for (const ChainStep& step : chain.steps) {
      const bool by_kernel = work_of(step, chain.slice) == chain.pace.ps;
      const bool by_link = latency_.message(step.hop, chain.slice).spacing == chain.pace;
      if (!by_kernel && !by_link) continue;
      const ResourceId slowest = by_kernel ? kernel_of(step) : narrow_of(step, chain.slice);
      return add(slowest, Cause::kBusy, chain.total.ps - (total_ - before));
    }
  }
  std::int64_t total() const { return total_; }
  std::vector<TracePart> parts() const {
    std::vector<TracePart> found;
    for (const auto& [key, ps] : parts_) found.push_back({key.first, key.second, ps});
    return found;
  }

 private:
  std::int64_t work_of(const ChainStep& step, Bytes slice) const {
    return (latency_.kernel(step.hop.destination, step.kind, slice) * step.operations).ps;
  }
  ResourceId kernel_of(const ChainStep& step) const {
    const int per_node = load_.fabric().cluster().node.gpu_count;
    const int gpu = load_.gpu_of(step.hop.destination);
    return load_.fabric().reduce_resource(gpu / per_node, gpu % per_node);
  }
  ResourceId narrow_of(const ChainStep& step, Bytes slice) const {
    const Trace trace = latency_.message_parts(step.hop, slice);
    for (int i = 0; i < trace.count; ++i) {
      const TracePart& part = trace.parts[static_cast<std::size_t>(i)];
      if (part.cause == Cause::kBusy) return part.resource;
    }
    return kNoResource;
  }

  const ResourceLoad& load_;
  HopLatency& latency_;
  std::map<std::pair<ResourceId, Cause>, std::int64_t> parts_;
  std::int64_t total_ = 0;
};

// The step of the chain that takes longest.
const ChainStep* slowest_of(const CollectiveChain& chain, HopLatency& latency) {
  const ChainStep* slowest = nullptr;
  Duration most{-1};
  for (const ChainStep& step : chain.steps) {
    const Duration time = latency.message(step.hop, chain.slice).arrived;
    if (time <= most) continue;
    most = time;
    slowest = &step;
  }
  return slowest;
}

// The busiest resource, and before and after it one slice's way as far as there is time for it.
void add_load(const AnalyticBracket& bracket, const CollectiveChain& chain, std::int64_t whole,
              HopLatency& latency, const ResourceLoad& load, AnalyticPath& path) {
  path.add(bracket.busiest, Cause::kBusy, bracket.load.ps);
  const ChainStep* slowest = slowest_of(chain, latency);
  if (slowest == nullptr) return;
  AnalyticPath slice(load, latency);
  slice.add_step(*slowest, chain.slice);
  for (const TracePart& part : slice.parts()) {
    // What waits is in the busiest resource's time already.
    if (part.cause == Cause::kBusy || path.total() + part.ps > whole) continue;
    path.add(part.resource, part.cause, part.ps);
  }
}

}  // namespace

std::vector<TracePart> analytic_path(const ResourceLoad& load, const CollectiveChain& chain,
                                     const SlotBound& slots, const AnalyticBracket& bracket,
                                     HopLatency& latency) {
  AnalyticPath path(load, latency);
  const Duration launch = load.fabric().cluster().node.gpu.kernel_launch;
  const std::int64_t whole = (launch + bracket.estimate).ps;
  path.add(kNoResource, Cause::kLaunch, launch.ps);
  switch (bracket.limit) {
    case AnalyticLimit::kLoad:
      add_load(bracket, chain, whole, latency, load, path);
      break;
    case AnalyticLimit::kChain:
    case AnalyticLimit::kThreads:
      path.add_chain(chain);
      break;
    case AnalyticLimit::kSlots:
      path.add(kNoResource, Cause::kSlots, slots.time().ps);
      break;
  }
  // What is left waits for its turn.
  const std::int64_t left = whole - path.total();
  if (bracket.limit == AnalyticLimit::kThreads) {
    path.add(kNoResource, Cause::kThread, left);
  } else {
    path.add(bracket.busiest, Cause::kBusy, left);
  }
  return path.parts();
}

}  // namespace gradhaul

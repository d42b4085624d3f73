#include "scenarios/plan_what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace gradhaul {
namespace {

constexpr int kSlotsOfSlices = 8;
constexpr Bytes kSlice{512 << 10};
constexpr int kManyQueuePairs = 16;

// With the settings where they change anything.
WhatIf turned(Knob knob, std::string change, bool changes, std::vector<std::string> settings,
              std::string otherwise) {
  WhatIf result{knob, std::move(change), {}, {}};
  if (!changes) {
    result.obstacle = std::move(otherwise);
    return result;
  }
  for (const std::string& setting : settings) {
    result.settings.push_back("communication." + setting);
  }
  return result;
}

WhatIf ring(const Communication& plan) {
  return turned(Knob::kRing, "a ring instead of a parameter server",
                plan.algorithm == Algorithm::kParameterServer, {"algorithm=ring"},
                "it is no parameter server");
}

WhatIf lines(const Communication& plan, bool rdma) {
  return turned(Knob::kLines,
                "flags among the data, which kernels poll for (LL), instead of completions",
                rdma && plan.protocol == Protocol::kSimple, {"protocol=ll"},
                "there is nothing like it, or it is so already");
}

WhatIf slices(const Communication& plan) {
  const std::string size = fmt::format("{}KiB", kSlice.count >> 10);
  return turned(Knob::kSlices,
                fmt::format("chunks that travel in slices of {}, into {} slots, instead of whole",
                            size, kSlotsOfSlices),
                plan.slot_size > kSlice,
                {fmt::format("slots={}", kSlotsOfSlices), "slot_size=" + size},
                "slices are as small already");
}

WhatIf more_queue_pairs(const Communication& plan, bool rdma) {
  const int more = std::max(kManyQueuePairs, 2 * plan.queue_pairs);
  return turned(Knob::kQueuePairs,
                fmt::format("{} queue pairs a connection instead of {}", more, plan.queue_pairs),
                rdma, {fmt::format("queue_pairs={}", more)}, "TCP has none");
}

}  // namespace

std::optional<WhatIf> plan_what_if(Knob knob, const Scenario& scenario) {
  const Communication& plan = scenario.communication;
  const bool rdma = !scenario.cluster.network.tcp;
  switch (knob) {
    case Knob::kRing:
      return ring(plan);
    case Knob::kLines:
      return lines(plan, rdma);
    case Knob::kSlices:
      return slices(plan);
    case Knob::kQueuePairs:
      return more_queue_pairs(plan, rdma);
    default:
      return std::nullopt;
  }
}

}  // namespace gradhaul

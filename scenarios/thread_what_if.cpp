#include "scenarios/thread_what_if.h"

#include <fmt/format.h>

#include "scenarios/knob_quantity.h"
#include "scenarios/transport_reader.h"

namespace gradhaul {
namespace {

constexpr const char* kNothing = "it costs nothing here, or has no limit";

// With the setting where it changes anything.
WhatIf turned(Knob knob, std::string change, bool changes, std::string setting) {
  WhatIf result{knob, std::move(change), {}, {}};
  if (changes) {
    result.settings.push_back("communication." + std::move(setting));
  } else {
    result.obstacle = kNothing;
  }
  return result;
}

WhatIf page_size(const Communication& plan) {
  constexpr Bytes kLarge{2 << 20};
  return turned(Knob::kPageSize,
                fmt::format("memory registered in pages of {} instead of {}", format_bytes(kLarge),
                            format_bytes(plan.registration.page)),
                plan.registering == Registering::kPerTransfer && plan.registration.page < kLarge,
                "page_size=" + format_bytes(kLarge));
}

WhatIf of_nic(Knob knob, std::string change, bool changes, std::vector<std::string> settings) {
  WhatIf result{knob, std::move(change), {}, {}};
  if (!changes) result.obstacle = kNothing;
  for (std::string& setting : settings) {
    if (changes) result.settings.push_back("cluster.node.nics.model." + std::move(setting));
  }
  return result;
}

WhatIf nic_holds_all(const NicModel& nic) {
  return of_nic(Knob::kContextCache, "NICs that hold all queue pairs and memory regions in use",
                nic.queue_pair_cache > 0 || nic.memory_region_cache > 0,
                {"qp_cache=unlimited", "mr_cache=unlimited"});
}

WhatIf faster_queue_pairs(const NicModel& nic) {
  return of_nic(Knob::kQueuePairRate, "queue pairs that take twice the work requests a second",
                nic.queue_pair_rate > 0,
                {fmt::format("qp_message_rate={}", nic.queue_pair_rate * 2)});
}

}  // namespace

std::optional<WhatIf> thread_what_if(Knob knob, const Scenario& scenario) {
  const Communication& plan = scenario.communication;
  switch (knob) {
    case Knob::kRegisterOnce:
      return turned(knob, "memory registered once, before the first collective",
                    plan.registering == Registering::kPerTransfer, "registration=once");
    case Knob::kPageSize:
      return page_size(plan);
    case Knob::kPolling:
      return turned(knob, "communication threads that poll, a core each, instead of sleeping",
                    plan.sleeps, "completion=polling");
    case Knob::kThreadPlacement:
      return turned(knob, "communication threads at the sockets of the GPUs they serve",
                    plan.threads.at != ThreadPlacement::At::kGpu, "thread_placement=auto");
    case Knob::kThreadStep:
      return turned(knob, "communication threads that post and poll in half the time",
                    plan.thread_step.ps > 0,
                    "thread_step=" + format_duration({plan.thread_step.ps / 2}));
    case Knob::kBlueFlame:
      return turned(knob, "work requests written with the doorbell (BlueFlame) instead of fetched",
                    plan.blue_flame.count == 0 && scenario.cluster.node.nic.wqe_fetch.ps > 0,
                    "blue_flame=2GiB");
    case Knob::kNoFlush:
      return turned(knob, "no read back by the NIC before kernels are told of data",
                    plan.flush != Flush::kOff, "flush=off");
    case Knob::kContextCache:
      return nic_holds_all(scenario.cluster.node.nic);
    case Knob::kQueuePairRate:
      return faster_queue_pairs(scenario.cluster.node.nic);
    case Knob::kRdma:
      return made_rdma(scenario);
    case Knob::kTcpCores:
      return more_cores(scenario);
    default:
      return std::nullopt;
  }
}

}  // namespace gradhaul

#include "scenarios/idle_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace gradhaul {
namespace {

struct Rule {
  std::string_view key;
  bool (*effective)(const Scenario&);
  std::string_view needed;
  // What it is where nobody says anything: files with every value filled in say it, too.
  std::array<std::string_view, 3> usual = {};
};

bool goes_by_rdma(const Scenario& scenario) { return !scenario.communication.tcp; }
bool has_credits(const Scenario& scenario) {
  const Network& network = scenario.cluster.network;
  return network.kind != NetworkKind::kRoce && network.vl_buffer.count > 0;
}
bool translates(const Scenario& scenario) { return scenario.cluster.node.pcie_settings.iommu; }
bool keeps_order(const Scenario& scenario) {
  return !scenario.cluster.node.pcie_settings.relaxed_ordering;
}
bool misses_contexts(const Scenario& scenario) {
  const NicModel& nic = scenario.cluster.node.nic;
  return goes_by_rdma(scenario) && (nic.queue_pair_cache > 0 || nic.memory_region_cache > 0);
}

bool registers_each_time(const Scenario& scenario) {
  return scenario.communication.registering == Registering::kPerTransfer;
}
bool caches_registrations(const Scenario& scenario) {
  return scenario.communication.registering == Registering::kCached;
}
bool has_several_queue_pairs(const Scenario& scenario) {
  return goes_by_rdma(scenario) && scenario.communication.queue_pairs > 1;
}

constexpr std::string_view kRdma = "communication.transport: rdma";
constexpr std::string_view kIommu = "cluster.node.pcie_settings.iommu: true";
constexpr std::array<Rule, 23> kRules{{
    {"communication.flush", goes_by_rdma, kRdma, {"off", "auto"}},
    {"communication.blue_flame", goes_by_rdma, kRdma, {"0B", "8KiB", "2GiB"}},
    {"communication.page_size", goes_by_rdma, kRdma, {"auto"}},
    {"communication.registration_base", goes_by_rdma, kRdma},
    {"communication.registration_page", goes_by_rdma, kRdma},
    {"communication.deregistration",
     registers_each_time,
     "communication.registration: per_transfer",
     {"0.45"}},
    {"communication.registration_hit",
     caches_registrations,
     "communication.registration: cached",
     {"200ns"}},
    {"communication.split_over_queue_pairs",
     has_several_queue_pairs,
     "transport: rdma and communication.queue_pairs above 1",
     {"false"}},
    {"communication.timeout", goes_by_rdma, kRdma, {"20"}},
    {"communication.retry", goes_by_rdma, kRdma, {"7"}},
    {"communication.rnr_timer", goes_by_rdma, kRdma, {"12"}},
    {"communication.rnr_retry", goes_by_rdma, kRdma, {"7"}},
    {"communication.traffic_class", goes_by_rdma, kRdma, {"auto"}},
    {"cluster.node.nics.model.qp_message_rate", goes_by_rdma, kRdma, {"unlimited"}},
    {"cluster.node.nics.model.qp_cache", goes_by_rdma, kRdma, {"unlimited"}},
    {"cluster.node.nics.model.mr_cache", goes_by_rdma, kRdma, {"unlimited"}},
    {"cluster.node.nics.model.qp_setup", goes_by_rdma, kRdma, {"1ms"}},
    {"cluster.node.nics.model.context_fetch",
     misses_contexts,
     "transport: rdma and a qp_cache or an mr_cache that is not unlimited",
     {"550ns"}},
    {"cluster.network.credit_return",
     has_credits,
     "an InfiniBand network whose switch.vl_buffer is not unlimited",
     {"0ns", "300ns"}},
    {"cluster.node.pcie_settings.iotlb_miss", translates, kIommu, {"330ns"}},
    {"cluster.node.pcie_settings.iotlb_page", translates, kIommu, {"4KiB"}},
    {"cluster.node.pcie_settings.page_walks", translates, kIommu, {"2"}},
    {"cluster.node.pcie_settings.ordered_writes",
     keeps_order,
     "cluster.node.pcie_settings.relaxed_ordering: false",
     {"18.75GB/s"}},
}};

}  // namespace

std::string lacks_for_effect(const Scenario& scenario, std::string_view key) {
  const auto rule =
      std::find_if(kRules.begin(), kRules.end(), [key](const Rule& r) { return r.key == key; });
  if (rule == kRules.end() || rule->effective(scenario)) return "";
  return std::string(rule->needed);
}

void note_idle_keys(Scenario& scenario) {
  for (const Rule& rule : kRules) {
    if (rule.effective(scenario)) continue;
    const FilledValue* value = scenario.filled.find_path(rule.key);
    if (value == nullptr || value->origin.from_default) continue;
    if (std::find(rule.usual.begin(), rule.usual.end(), value->text) != rule.usual.end()) continue;
    const Location& from = value->origin.location;
    if (!from.option() && from.source != scenario.file) continue;
    scenario.model_notes.push_back(fmt::format("{}: {} has no effect here: only with {}.", rule.key,
                                               value->text, rule.needed));
  }
}

}  // namespace gradhaul

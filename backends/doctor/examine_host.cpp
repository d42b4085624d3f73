#include "backends/doctor/examine_host.h"

#include <algorithm>
#include <map>

#include "backends/doctor/counter_meanings.h"
#include "backends/doctor/findings.h"
#include "backends/doctor/host_summary.h"
#include "backends/doctor/node_draft.h"
#include "backends/doctor/unseen.h"
#include "backends/host/nvml_reader.h"
#include "backends/host/read_host.h"

namespace gradhaul {
namespace {

constexpr const char* kOnlyTree = "a copied tree holds nothing of it";

std::vector<CounterReading> compare(const std::vector<CounterValue>& now,
                                    const std::vector<CounterValue>* earlier) {
  std::map<std::pair<std::string, std::string>, std::uint64_t> before;
  if (earlier != nullptr) {
    for (const CounterValue& counter : *earlier) {
      before[{counter.device, counter.name}] = counter.value;
    }
  }
  std::vector<CounterReading> readings;
  for (const CounterValue& counter : now) {
    CounterReading reading{counter.device, counter.name, counter.file, counter.value, {}, ""};
    const auto first = before.find({counter.device, counter.name});
    if (first != before.end()) {
      reading.first = first->second;
      reading.second = counter.value;
    }
    const CounterMeaning* meaning = counter_meaning(counter.name);
    if (meaning != nullptr) reading.meaning = meaning->counts;
    readings.push_back(std::move(reading));
  }
  return readings;
}

void find_absences(const HostInventory& host, Findings& findings) {
  if (host.gpus.empty()) {
    findings.push_back({Severity::kFact,
                        "no-gpu",
                        "host",
                        "there is no GPU on its PCI bus",
                        {},
                        "What is said of ways between GPUs and NICs does not apply.",
                        "",
                        "lspci | grep -iE '3d|vga|display'"});
  }
  if (host.rdma.empty()) {
    findings.push_back({Severity::kFact,
                        "no-rdma",
                        "host",
                        "there is no RDMA device",
                        {{"/sys/class/infiniband", "empty, or no such folder"}},
                        "Data between hosts goes over TCP, with a copy or two on each side.",
                        "",
                        "ls /sys/class/infiniband; rdma link"});
  }
}

void ask_nvml(const NvmlOpener& open, HostSnapshot& snapshot) {
  HostInventory& host = snapshot.host;
  if (!host.has_nvidia_gpu()) return;
  const std::unique_ptr<NvmlLibrary> nvml = open(host.gpu_states_missing);
  if (!nvml) return;
  host.gpu_states = read_gpu_states(*nvml, host);
  const std::vector<CounterValue> counters = read_gpu_counters(*nvml, host);
  snapshot.counters.insert(snapshot.counters.end(), counters.begin(), counters.end());
  if (host.gpu_states.empty()) host.gpu_states_missing = "it knows none of the GPUs on the PCI bus";
}

void take_mtus(const AskedMtus& asked, HostInventory& host) {
  host.mtus_missing = asked.missing;
  for (RdmaDevice& device : host.rdma) {
    for (RdmaPort& port : device.ports) {
      for (const PortMtus& of : asked.ports) {
        if (of.device != device.name || of.port != port.number) continue;
        port.mtu = of.active;
        port.most_mtu = of.most;
      }
    }
  }
}

}  // namespace

HostSnapshot take_snapshot(const HostTree& tree) {
  if (tree.is_running_host()) return take_snapshot(tree, open_nvml, [] { return ask_for_mtus(); });
  const auto no_nvml = [](std::string& why_not) -> std::unique_ptr<NvmlLibrary> {
    why_not = kOnlyTree;
    return nullptr;
  };
  return take_snapshot(tree, no_nvml, [] { return AskedMtus{{}, {kOnlyTree}}; });
}

HostSnapshot take_snapshot(const HostTree& tree, const NvmlOpener& open, const MtuAsker& ask) {
  HostSnapshot snapshot;
  snapshot.host = read_host(tree);
  snapshot.counters = read_counters(tree, snapshot.host);
  ask_nvml(open, snapshot);
  if (!snapshot.host.rdma.empty()) take_mtus(ask(), snapshot.host);
  snapshot.driver_counters_missing = !tree.is_running_host() && !tree.exists("/ethtool");
  return snapshot;
}

HostCheckup examine_host(const HostSnapshot& now, const HostSnapshot* earlier, double seconds) {
  HostCheckup checkup;
  checkup.watched_seconds = seconds;
  checkup.items = summarize_host(now.host);
  checkup.distances = host_distances(now.host);
  checkup.counters = compare(now.counters, earlier == nullptr ? nullptr : &earlier->counters);
  find_in_ports(now.host, checkup.findings);
  find_in_gpus(now.host, checkup.findings);
  find_in_drivers(now.host, checkup.findings);
  find_in_paths(now.host, checkup.findings);
  find_in_links(now.host, checkup.findings);
  find_in_transfers(now.host, checkup.findings);
  find_in_roce(now.host, checkup.findings);
  find_in_queue_pairs(now.host, earlier == nullptr ? nullptr : &earlier->host, checkup.findings);
  find_in_counters(checkup.counters, seconds, checkup.findings);
  find_in_system(now.host, checkup.findings);
  find_absences(now.host, checkup.findings);
  // Findings of one kind stand together, the worst first.
  std::map<std::pair<Severity, std::string>, std::size_t> first;
  for (std::size_t i = 0; i < checkup.findings.size(); ++i) {
    first.emplace(std::pair{checkup.findings[i].severity, checkup.findings[i].id}, i);
  }
  const auto place = [&](const Finding& finding) {
    return std::pair{finding.severity, first.at({finding.severity, finding.id})};
  };
  std::stable_sort(
      checkup.findings.begin(), checkup.findings.end(),
      [&](const Finding& left, const Finding& right) { return place(left) < place(right); });
  checkup.unseen = list_unseen(now, seconds > 0);
  checkup.node = draft_node(now.host);
  return checkup;
}

}  // namespace gradhaul

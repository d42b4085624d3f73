// What the kernel is set to: locked memory, clocks, balancing; and queue pairs that are stuck.

#include <algorithm>
#include <map>

#include "backends/doctor/findings.h"
#include "backends/doctor/number_text.h"

namespace gradhaul {
namespace {

constexpr std::int64_t kLowLimit = std::int64_t{1} << 30;

void find_locked_memory(const HostInventory& host, Findings& findings) {
  const FileText& limit = host.settings.locked_memory;
  if (host.rdma.empty() || !limit.read() || limit.text == "unlimited") return;
  const std::int64_t bytes = whole_number(limit.text).value_or(0);
  const bool binds = !host.settings.may_lock_memory;
  findings.push_back(
      {binds && bytes < kLowLimit ? Severity::kProblem : Severity::kWarning,
       "memlock",
       "host",
       "a process may lock " + number_text(static_cast<double>(bytes) / 1048576) + " MiB" +
           (binds ? "" : "; this one is free of that limit, those of other users are not"),
       {{"/proc/self/limits", "Max locked memory " + limit.text}},
       "Memory for RDMA has to be locked: beyond that, registering it, or making queues, fails "
       "with "
       "ENOMEM (\"cannot allocate memory\").",
       "\"* - memlock unlimited\" in /etc/security/limits.conf; LimitMEMLOCK=infinity for what "
       "systemd or Slurm start; --ulimit memlock=-1 for containers.",
       "ulimit -l, in the job itself"});
}

void find_governor(const HostInventory& host, Findings& findings) {
  for (const auto& [governor, processors] : host.settings.governors) {
    if (governor == "performance") continue;
    findings.push_back(
        {Severity::kWarning,
         "cpu-governor",
         "host",
         count_of_things(static_cast<std::size_t>(processors), "processor") +
             " run by the governor \"" + governor + "\"",
         {{host.settings.governor_files.at(governor), governor}},
         "Threads that poll and post begin at a low clock; short messages feel it most.",
         "cpupower frequency-set -g performance",
         "cpupower frequency-info -p"});
  }
}

void find_balancing(const HostInventory& host, Findings& findings) {
  if (host.settings.numa_balancing.value_or(0) == 0 || host.numa_nodes.size() < 2) return;
  if (host.gpus.empty() && host.rdma.empty()) return;
  findings.push_back(
      {Severity::kWarning,
       "numa-balancing",
       "host",
       "the kernel moves memory between NUMA nodes by itself",
       {{"/proc/sys/kernel/numa_balancing", std::to_string(*host.settings.numa_balancing)}},
       "It unmaps pages to see who uses them; threads that post, and GPUs that share "
       "memory with the host, stumble over that. RCCL warns of it as well.",
       "sysctl kernel.numa_balancing=0",
       "cat /proc/sys/kernel/numa_balancing"});
}

void find_idle_states(const HostInventory& host, Findings& findings) {
  const HostSettings& settings = host.settings;
  if (settings.deepest_idle_exit.value_or(0) < 50) return;
  findings.push_back({Severity::kFact,
                      "cpu-idle",
                      "host",
                      "processors may sleep as deep as " + settings.deepest_idle_state + ", " +
                          std::to_string(*settings.deepest_idle_exit) + " us to wake",
                      {{"/sys/devices/system/cpu/cpu0/cpuidle", settings.deepest_idle_state}},
                      "Completions by interrupt wait for that; polling does not.",
                      "",
                      "cpupower idle-info"});
}

void find_huge_pages(const HostInventory& host, Findings& findings) {
  const HostSettings& settings = host.settings;
  if (!settings.huge_pages) return;
  const std::string& transparent = settings.transparent_huge_pages;
  findings.push_back({Severity::kFact,
                      "huge-pages",
                      "host",
                      std::to_string(*settings.huge_pages) + " reserved" +
                          (transparent.empty() ? "" : "; transparent ones: " + transparent),
                      {{"/proc/sys/vm/nr_hugepages", std::to_string(*settings.huge_pages)}},
                      "Buffers in huge pages take fewer entries in the tables of NIC and IOMMU.",
                      "",
                      "grep -i huge /proc/meminfo"});
}

bool is_unconnected(const std::string& state) {
  return state == "RST" || state == "RESET" || state == "INIT";
}

// A queue pair for datagrams connects to nobody: that of an IPoIB interface that is down stays in
// RESET.
bool connects(const HostQueuePair& pair) {
  return pair.type != "UD" && pair.type != "SMI" && pair.type != "GSI" &&
         !pair.type.starts_with("RAW_");
}

bool is_broken(const std::string& state) {
  return state == "ERR" || state == "SQER" || state == "SQE";
}

bool was_there(const HostInventory* earlier, const HostQueuePair& pair) {
  if (earlier == nullptr) return false;
  return std::any_of(earlier->queue_pairs.begin(), earlier->queue_pairs.end(),
                     [&](const HostQueuePair& other) {
                       return other.device == pair.device && other.number == pair.number &&
                              other.state == pair.state;
                     });
}

}  // namespace

void find_in_queue_pairs(const HostInventory& host, const HostInventory* earlier,
                         Findings& findings) {
  struct Key {
    std::string device, state, owner;
    bool stayed;
    auto operator<=>(const Key&) const = default;
  };
  std::map<Key, std::vector<const HostQueuePair*>> groups;
  for (const HostQueuePair& pair : host.queue_pairs) {
    const bool stuck = is_unconnected(pair.state) && connects(pair);
    if (!stuck && !is_broken(pair.state)) continue;
    groups[{pair.device, pair.state, pair.owner, was_there(earlier, pair)}].push_back(&pair);
  }
  for (const auto& [key, pairs] : groups) {
    const bool broken = is_broken(key.state);
    findings.push_back(
        {key.stayed ? Severity::kProblem : Severity::kWarning,
         broken ? "qp-error" : "qp-stuck",
         key.device,
         count_of_things(pairs.size(), "queue pair") + " in " + key.state +
             (key.owner.empty() ? "" : ", of " + key.owner) +
             (key.stayed ? ", as at the start of the watch" : ""),
         {{pairs.front()->file, key.state}},
         broken
             ? "A queue pair in an error state carries nothing: its owner has lost a connection."
             : "A queue pair that stays here was never connected: its owner waits for a peer, or "
               "could not reach RTR (wrong GID, MTU, or no path).",
         broken
             ? "Look for the first error that its owner reported, and at the peer's."
             : "Look at the peer: has it started, and does it use the same GID type and network?",
         "rdma resource show qp"});
  }
}

void find_in_system(const HostInventory& host, Findings& findings) {
  find_locked_memory(host, findings);
  find_governor(host, findings);
  find_balancing(host, findings);
  find_idle_states(host, findings);
  find_huge_pages(host, findings);
}

}  // namespace gradhaul

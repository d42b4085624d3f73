#include "backends/host/settings_reader.h"

#include <algorithm>
#include <set>

namespace gradhaul {
namespace {

constexpr const char* kProcessors = "/sys/devices/system/cpu";

// The first processor of a list such as "0-31,64-95".
std::optional<std::int64_t> first_processor(const std::string& list) {
  return whole_number(std::string_view(list).substr(0, list.find_first_of("-,")));
}

std::optional<int> socket_of_processor(const HostTree& tree, std::int64_t processor) {
  const auto socket = tree.number(std::string(kProcessors) + "/cpu" + std::to_string(processor) +
                                  "/topology/physical_package_id");
  if (!socket || *socket < 0 || *socket > 1 << 20) return std::nullopt;
  return static_cast<int>(*socket);
}

std::vector<int> processor_numbers(const HostTree& tree) {
  std::vector<int> numbers;
  for (const std::string& name : tree.list(kProcessors)) {
    if (!name.starts_with("cpu")) continue;
    const auto number = whole_number(std::string_view(name).substr(3));
    if (number && *number >= 0 && *number < 1 << 20) numbers.push_back(static_cast<int>(*number));
  }
  return numbers;
}

void read_processor_model(const HostTree& tree, HostInventory& host) {
  // With many processors the file is longer than is read of it; the first entry is all that counts.
  const std::string text = tree.read_bytes("/proc/cpuinfo", 4096).text;
  for (const std::string& line : lines_of(text)) {
    if (line.empty()) break;
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const std::string key = line.substr(0, line.find_first_of("\t:"));
    const std::string value = line.substr(colon + 2);
    const auto number = whole_number(value);
    if (key == "vendor_id") host.cpu_vendor = value;
    if (key == "model name") host.cpu_name = value;
    if (key == "cpu family" && number) host.cpu_family = static_cast<int>(*number & 0xffff);
    if (key == "model" && number) host.cpu_model = static_cast<int>(*number & 0xffff);
  }
  const auto printable = [](const std::string& value) {
    return std::all_of(value.begin(), value.end(), [](char c) { return c >= ' ' && c <= '~'; });
  };
  if (!printable(host.cpu_vendor)) host.cpu_vendor.clear();
  if (!printable(host.cpu_name)) host.cpu_name.clear();
}

void read_limits(const HostTree& tree, HostSettings& settings) {
  settings.locked_memory = tree.read("/proc/self/limits");
  if (settings.locked_memory.read()) {
    std::string limit;
    for (const std::string& line : lines_of(settings.locked_memory.text)) {
      // "Max locked memory         8388608              8388608              bytes"
      const std::vector<std::string> words = words_of(line);
      if (words.size() >= 5 && line.starts_with("Max locked memory")) limit = words[3];
    }
    if (limit != "unlimited" && !whole_number(limit)) {
      settings.locked_memory.status = ReadStatus::kUseless;
    }
    settings.locked_memory.text = limit;
  }
  constexpr int kLockMemory = 14;  // linux/capability.h, CAP_IPC_LOCK
  for (const std::string& line : lines_of(tree.read("/proc/self/status").text)) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() != 2 || words[0] != "CapEff:") continue;
    const auto held = whole_number("0x" + words[1]);
    settings.may_lock_memory = held && (*held >> kLockMemory & 1) != 0;
  }
}

void read_modules(const HostTree& tree, HostSettings& settings) {
  const FileText loaded = tree.read("/proc/modules");
  std::set<std::string> modules;
  for (const std::string& line : lines_of(loaded.text)) {
    const std::vector<std::string> words = words_of(line);
    if (!words.empty()) modules.insert(words.front());
  }
  // Built-in ones stand in /sys/module alone.
  for (const std::string& name : tree.list("/sys/module")) modules.insert(name);
  settings.modules_listed = !modules.empty();
  settings.modules.assign(modules.begin(), modules.end());
}

void read_power(const HostTree& tree, HostSettings& settings) {
  for (const int number : processor_numbers(tree)) {
    const std::string file =
        std::string(kProcessors) + "/cpu" + std::to_string(number) + "/cpufreq/scaling_governor";
    const FileText governor = tree.read(file);
    if (!governor.read() || governor.text.empty() || words_of(governor.text).size() != 1) continue;
    ++settings.governors[governor.text];
    settings.governor_files.emplace(governor.text, file);
  }
  const std::string idle = std::string(kProcessors) + "/cpu0/cpuidle";
  for (const std::string& state : tree.list(idle)) {
    const std::string folder = idle + "/" + state;
    const auto exit = tree.number(folder + "/latency");
    if (!exit || *exit < 0 || tree.number(folder + "/disable").value_or(1) != 0) continue;
    if (*exit < settings.deepest_idle_exit.value_or(0)) continue;
    settings.deepest_idle_exit = exit;
    settings.deepest_idle_state = tree.read(folder + "/name").text;
  }
}

}  // namespace

void read_processors(const HostTree& tree, HostInventory& host) {
  std::set<int> sockets;
  for (const int number : processor_numbers(tree)) {
    ++host.processors;
    if (const auto socket = socket_of_processor(tree, number)) sockets.insert(*socket);
  }
  host.sockets.assign(sockets.begin(), sockets.end());
  for (const std::string& name : tree.list("/sys/devices/system/node")) {
    if (!name.starts_with("node")) continue;
    const auto number = whole_number(std::string_view(name).substr(4));
    if (!number || *number < 0 || *number > 1024) continue;
    NumaNode node;
    node.number = static_cast<int>(*number);
    node.cpus = tree.read("/sys/devices/system/node/" + name + "/cpulist").text;
    if (const auto first = first_processor(node.cpus)) {
      node.socket = socket_of_processor(tree, *first);
    }
    host.numa_nodes.push_back(node);
  }
  read_processor_model(tree, host);
}

HostSettings read_settings(const HostTree& tree) {
  HostSettings settings;
  settings.kernel = tree.read("/proc/sys/kernel/osrelease").text;
  settings.command_line = tree.read("/proc/cmdline").text;
  settings.gpu_driver = tree.read("/proc/driver/nvidia/version");
  settings.iommu_present = !tree.list("/sys/class/iommu").empty();
  read_modules(tree, settings);
  read_limits(tree, settings);
  read_power(tree, settings);
  settings.huge_pages = tree.number("/proc/sys/vm/nr_hugepages");
  settings.transparent_huge_pages = tree.read("/sys/kernel/mm/transparent_hugepage/enabled").text;
  settings.numa_balancing = tree.number("/proc/sys/kernel/numa_balancing");
  return settings;
}

}  // namespace gradhaul

#include "backends/host/counter_reader.h"

#include <algorithm>
#include <charconv>

#include "backends/host/driver_counters.h"

namespace gradhaul {
namespace {

std::optional<std::uint64_t> count_of(std::string_view text) {
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return count;
}

void read_folder(const HostTree& tree, const std::string& device, const std::string& folder,
                 std::vector<CounterValue>& counters) {
  for (const std::string& name : tree.list(folder)) {
    // `lifespan` is how often the driver asks the device.
    if (name == "lifespan") continue;
    const FileText found = tree.read(folder + "/" + name);
    const auto value = found.read() ? count_of(found.text) : std::nullopt;
    if (value) counters.push_back({device, name, folder + "/" + name, *value});
  }
}

// A driver's own, at most these: most of the others count queues.
bool is_of_interest(const std::string& name) {
  return name.find("_queue") == std::string::npos && name.find("_cq_") == std::string::npos &&
         !(name.size() > 2 && (name.starts_with("rx") || name.starts_with("tx")) &&
           name[2] >= '0' && name[2] <= '9') &&
         !name.starts_with("ch");
}

void read_driver(const HostTree& tree, const NetDevice& device,
                 std::vector<CounterValue>& counters) {
  const std::string file = "/ethtool/" + device.name;
  std::vector<CounterValue> found = tree.is_running_host()
                                        ? read_driver_counters(device.name)
                                        : parse_driver_counters(tree.read(file).text);
  for (CounterValue& counter : found) {
    if (!is_of_interest(counter.name)) continue;
    counter.device = device.name;
    counter.file = tree.is_running_host() ? "ethtool -S " + device.name : file;
    counters.push_back(std::move(counter));
  }
}

// The sum at the end of a file of Advanced Error Reporting: "TOTAL_ERR_COR 12".
void read_pcie_errors(const HostTree& tree, const PciFunction& function,
                      std::vector<CounterValue>& counters) {
  struct Sum {
    const char* name;
    const char* file;
    const char* line;
  };
  for (const Sum& sum : {Sum{"pcie_corrected_errors", "/aer_dev_correctable", "TOTAL_ERR_COR"},
                         Sum{"pcie_nonfatal_errors", "/aer_dev_nonfatal", "TOTAL_ERR_NONFATAL"},
                         Sum{"pcie_fatal_errors", "/aer_dev_fatal", "TOTAL_ERR_FATAL"}}) {
    const std::string file = function.folder + sum.file;
    for (const std::string& line : lines_of(tree.read(file).text)) {
      const std::vector<std::string> words = words_of(line);
      if (words.size() != 2 || words[0] != sum.line) continue;
      const auto value = count_of(words[1]);
      if (value) counters.push_back({function.address, sum.name, file, *value});
    }
  }
}

}  // namespace

std::vector<CounterValue> parse_driver_counters(const std::string& text) {
  std::vector<CounterValue> counters;
  for (const std::string& line : lines_of(text)) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::vector<std::string> name = words_of(std::string_view(line).substr(0, colon));
    const std::vector<std::string> value = words_of(std::string_view(line).substr(colon + 1));
    if (name.size() != 1 || value.size() != 1) continue;
    const auto count = count_of(value.front());
    if (count) counters.push_back({"", name.front(), "", *count});
  }
  return counters;
}

std::vector<CounterValue> read_counters(const HostTree& tree, const HostInventory& host) {
  std::vector<CounterValue> counters;
  for (const RdmaDevice& device : host.rdma) {
    read_folder(tree, device.name, device.folder + "/hw_counters", counters);
    for (const RdmaPort& port : device.ports) {
      const std::string name = device.name + " port " + std::to_string(port.number);
      read_folder(tree, name, port.folder + "/counters", counters);
      read_folder(tree, name, port.folder + "/hw_counters", counters);
    }
  }
  for (const NetDevice& device : host.net) {
    read_folder(tree, device.name, device.folder + "/statistics", counters);
    const auto downs = tree.number(device.folder + "/carrier_down_count");
    if (downs && *downs >= 0) {
      counters.push_back({device.name, "carrier_down_count", device.folder + "/carrier_down_count",
                          static_cast<std::uint64_t>(*downs)});
    }
    read_driver(tree, device, counters);
  }
  for (const PciFunction& function : host.pci) read_pcie_errors(tree, function, counters);
  return counters;
}

}  // namespace gradhaul

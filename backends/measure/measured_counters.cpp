#include "backends/measure/measured_counters.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "core/host_counter_names.h"

namespace gradhaul {

CountedAtPorts growth(const CountedAtPorts& before, const CountedAtPorts& after) {
  std::map<std::string, std::int64_t> first(before.begin(), before.end());
  CountedAtPorts grown;
  for (const auto& [name, value] : after) {
    grown.emplace_back(name, std::max<std::int64_t>(value - first[name], 0));
  }
  return grown;
}

std::string counted_text(const CountedAtPorts& counted) {
  std::string text;
  for (const auto& [name, count] : counted) text += name + " " + std::to_string(count) + "\n";
  return text;
}

std::vector<PortCounters> counters_of_ranks(const std::vector<std::string>& texts,
                                            const std::vector<int>& nodes) {
  std::map<std::string, PortCounters> ports;
  std::set<int> seen;
  for (std::size_t rank = 0; rank < std::min(texts.size(), nodes.size()); ++rank) {
    if (!seen.insert(nodes[rank]).second) continue;
    std::vector<std::string> nics;
    std::istringstream lines(texts[rank]);
    std::string name;
    std::int64_t count = 0;
    while (lines >> name >> count) {
      const std::size_t slash = name.rfind('/');
      if (slash == std::string::npos) continue;
      const std::string device = name.substr(0, slash);
      auto nic = std::find(nics.begin(), nics.end(), device);
      if (nic == nics.end()) nic = nics.insert(nics.end(), device);
      const std::string counter = name.substr(slash + 1);
      if (count <= 0 && !is_predicted_counter(predicted_name_of_rxe(counter))) continue;
      const std::string port =
          "node" + std::to_string(nodes[rank]) + ".nic" + std::to_string(nic - nics.begin());
      ports[port].port = port;
      ports[port].as_on_host[counter] += count;
    }
  }
  std::vector<PortCounters> counters;
  for (auto& [name, port] : ports) counters.push_back(std::move(port));
  return counters;
}

}  // namespace gradhaul

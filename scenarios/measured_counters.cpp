#include "scenarios/measured_counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

namespace gradhaul {

std::string counted_text(const CountedAtPorts& counted) {
  std::string text;
  for (const auto& [name, count] : counted) text += fmt::format("{} {}\n", name, count);
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
      if (slash == std::string::npos || count <= 0) continue;
      const std::string device = name.substr(0, slash);
      auto nic = std::find(nics.begin(), nics.end(), device);
      if (nic == nics.end()) nic = nics.insert(nics.end(), device);
      const std::string port = fmt::format("node{}.nic{}", nodes[rank], nic - nics.begin());
      ports[port].port = port;
      ports[port].as_on_host[name.substr(slash + 1)] += count;
    }
  }
  std::vector<PortCounters> counters;
  for (auto& [name, port] : ports) counters.push_back(std::move(port));
  return counters;
}

}  // namespace gradhaul

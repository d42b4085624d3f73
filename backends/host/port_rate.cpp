#include "backends/host/port_rate.h"

#include <cmath>

namespace gradhaul {

std::optional<BitRate> port_rate(const HostTree& tree, const std::string& port) {
  const std::vector<std::string> words = words_of(port);
  if (words.size() != 3 || words[1] != "port") return std::nullopt;
  const std::string device = "/sys/class/infiniband/" + words[0];
  // Of what hangs on a bus; software has none.
  if (!tree.exists(device + "/device")) return std::nullopt;
  const std::string text = tree.read(device + "/ports/" + words[2] + "/rate").text;
  const auto rate = leading_number(text);
  if (!rate || !(*rate > 0 && *rate < 1e5) || text.find("Gb/sec") == std::string::npos) {
    return std::nullopt;
  }
  return BitRate{std::llround(*rate * 1e9)};
}

}  // namespace gradhaul

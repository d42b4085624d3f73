#include "backends/verbs/port_counters.h"

#include <algorithm>
#include <fstream>
#include <system_error>

namespace gradhaul {

std::vector<std::pair<std::string, std::int64_t>> port_counters(
    const std::filesystem::path& class_folder, const std::string& device, int port) {
  const std::filesystem::path of_port = class_folder / device / "ports" / std::to_string(port);
  const std::string prefix = device + ":" + std::to_string(port) + "/";
  std::vector<std::pair<std::string, std::int64_t>> counters;
  for (const char* folder : {"counters", "hw_counters"}) {
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(of_port / folder, none)) {
      const std::string name = entry.path().filename().string();
      std::ifstream file(entry.path());
      std::int64_t value = 0;
      // How often the kernel looks is a setting, not a count.
      if (name == "lifespan" || !(file >> value)) continue;
      counters.emplace_back(prefix + name, value);
    }
  }
  std::ranges::sort(counters);
  return counters;
}

}  // namespace gradhaul

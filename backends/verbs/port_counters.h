#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace gradhaul {

// The counters of a port from sysfs (`class_folder` is /sys/class/infiniband, or a copy of it), as
// "rxe0:1/duplicate_request", by name; those that can't be read are left out.
std::vector<std::pair<std::string, std::int64_t>> port_counters(
    const std::filesystem::path& class_folder, const std::string& device, int port);

}  // namespace gradhaul

#pragma once

// What `nvidia-smi topo -m` prints as a node: the smallest tree in which devices are as far from
// each other as it says. It tells distances alone; so models and speeds are assumed, and notes say
// which.

#include <optional>
#include <string>

#include "core/host_checkup.h"
#include "scenarios/config_error.h"

namespace gradhaul {

// `lines`: without colours. Reports what is wrong with the file, and gives nothing then.
std::optional<NodeDraft> read_nvidia_topology(const std::string& lines, const std::string& file,
                                              Problems& problems);

}  // namespace gradhaul

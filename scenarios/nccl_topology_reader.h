#pragma once

// A topology file of NCCL (NCCL_TOPO_DUMP_FILE, NCCL_TOPO_FILE; src/graph/xml.cc) as a node: which
// GPUs and NICs hang where on PCIe, and NVLink. Files that clouds ship have neither <gpu> nor
// <nic>: devices are then told by their PCI class.

#include <optional>
#include <string>

#include "scenarios/config_error.h"
#include "scenarios/imported_node.h"

namespace gradhaul {

// Reports what is wrong with the file, and gives nothing then.
std::optional<NodeDraft> read_nccl_topology(const std::string& text, const std::string& file,
                                            const DeviceIdentifier& identify, Problems& problems);

}  // namespace gradhaul

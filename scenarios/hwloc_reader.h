#pragma once

// What hwloc knows of a machine (lstopo --of xml, hwloc2.dtd; versions 1 to 3) as a node: packages
// and the PCIe tree below their host bridges. It tells how fast links were when it looked, not
// what ports of NICs do, and of NVLink only that there is some.

#include <optional>
#include <string>

#include "scenarios/config_error.h"
#include "scenarios/imported_node.h"

namespace gradhaul {

// Reports what is wrong with the file, and gives nothing then.
std::optional<NodeDraft> read_hwloc(const std::string& text, const std::string& file,
                                    const DeviceIdentifier& identify, Problems& problems);

// The link that carries so many GB/s: hwloc multiplies lanes by 8, 16, 32, 64 Gb/s * 128/130, or by
// 2.5 and 5 * 8/10. Of several, the one with most lanes; nothing for 0, which is unknown.
std::optional<PcieLink> pcie_link_of_speed(double gigabytes);

}  // namespace gradhaul

#pragma once

// Priorities of an Ethernet port: which ones PFC protects, and by which one packets of a DSCP go
// (IEEE 802.1Q, Data Center Bridging; linux/dcbnl.h). No file holds it: the running host's kernel
// is asked by netlink, as `dcb` of iproute2 does.

#include <cstddef>
#include <span>
#include <string>

#include "backends/host/host_inventory.h"
#include "backends/host/host_tree.h"

namespace gradhaul {

// Nothing where the driver does not say. Of a copied tree /dcb/INTERFACE holds what
// `dcb pfc show dev INTERFACE` printed, which tells of PFC alone.
std::optional<PortPriorities> read_priorities(const HostTree& tree, const std::string& interface);

// "prio-pfc 0:off 1:off 2:off 3:on …" among other lines.
std::optional<PortPriorities> parse_dcb_text(const std::string& text);
// A message of netlink that answers DCB_CMD_IEEE_GET, from its header on.
std::optional<PortPriorities> parse_dcb_answer(std::span<const std::byte> message);

}  // namespace gradhaul

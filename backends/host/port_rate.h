#pragma once

// What an RDMA port says that it runs at (Linux, Documentation/ABI/stable/sysfs-class-infiniband).

#include <optional>
#include <string>

#include "backends/host/host_tree.h"
#include "core/quantities.h"

namespace gradhaul {

// `port`: "mlx5_0 port 1", as facts of a measurement name it. Nothing where it does not say, or
// where the device is made by software (rxe, siw), whose rate is no wire's.
std::optional<BitRate> port_rate(const HostTree& tree, const std::string& port);

}  // namespace gradhaul

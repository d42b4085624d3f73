#pragma once

// What ports have counted, under the names by which a host shows it, so that a prediction can be
// laid beside `perfquery`, /sys/class/infiniband/DEVICE/ports/1/{counters,hw_counters} [Linux,
// Documentation/ABI/stable/sysfs-class-infiniband] and `ethtool -S` [Linux,
// Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst]:
//
//   port_xmit_data, port_rcv_data   words of 4 bytes: packets from their first header to their
//                                   ICRC, without an Ethernet frame's own ends [IBTA vol. 1,
//                                   16.1.3.5: VCRC and delimiters do not count]
//   port_xmit_wait                  ticks of 8 bytes at the link's rate, in which something waited
//                                   and nothing could be sent [NVIDIA, Quantum counters]
//   rx_prioN_pause_duration         microseconds
//
// What a port has counted nothing of is left out.

#include <map>
#include <string>

#include "core/result.h"
#include "sim/finished_run.h"

namespace gradhaul {

// Fills PortCounters::as_on_host; the rest is there. Of NICs' ports, and of others that are listed.
void name_as_on_host(const FinishedRun& world, std::map<std::string, PortCounters>& ports);

}  // namespace gradhaul

#pragma once

// The counters that a network driver shows by ioctl alone, as `ethtool -S` does (linux/ethtool.h).

#include <string>
#include <vector>

#include "backends/host/counter_reader.h"

namespace gradhaul {

// Of an interface of the running host; none where the driver has none.
std::vector<CounterValue> read_driver_counters(const std::string& interface);

}  // namespace gradhaul

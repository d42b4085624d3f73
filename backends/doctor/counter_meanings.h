#pragma once

// What the counters that tell of trouble count (Linux, Documentation/ABI/stable/
// sysfs-class-infiniband and Documentation/networking/device_drivers/ethernet/mellanox/mlx5/
// counters.rst; InfiniBand Architecture 1.4, section 16.1.3.5), and what each is a sign of.

#include <optional>
#include <string>

#include "core/host_checkup.h"

namespace gradhaul {

struct CounterMeaning {
  const char* name;    // '#' stands for one digit
  Severity growing;    // when it was seen to grow
  Severity standing;   // when only its sum since some reset is known
  const char* counts;  // what it counts
  const char* why;     // what it does to traffic
  const char* remedy;
};

// Nothing for those that are no sign of anything.
const CounterMeaning* counter_meaning(const std::string& name);

}  // namespace gradhaul

#pragma once

// What could not be looked at, and what it would take: the other half of an honest report.

#include <vector>

#include "backends/doctor/examine_host.h"

namespace gradhaul {

std::vector<Unseen> list_unseen(const HostSnapshot& snapshot, bool watched);

}  // namespace gradhaul

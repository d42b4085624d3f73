#pragma once

// Of a wiring, where receives may be missing (core/receive_queue.h).

#include "core/faults.h"
#include "sim/wiring.h"

namespace gradhaul {

// Of a path to this node: how many receives its queue pairs have there.
void take_receives(const WiringSettings& settings, const Faults& faults, int node, bool credit,
                   Path& path);

// Whether any receive may be missing.
bool lacks_receives(const Wiring& wiring);

}  // namespace gradhaul

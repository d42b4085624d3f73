#pragma once

// SimGrid drives the packet world: ranks are SimGrid actors that reach the collective, wait for its
// end, and (later) compute between; simulated time is SimGrid's clock. The only file that includes
// SimGrid is simgrid_bridge.cpp.

#include <functional>

#include "sim/packet_world.h"

namespace gradhaul {

// Runs the world to the end of all ranks. `keep_going` is asked now and then; when it answers false
// the run ends there, and false is returned. Throws SimulationError when the run stalls.
bool run_under_simgrid(PacketWorld& world, const std::function<bool()>& keep_going);

}  // namespace gradhaul

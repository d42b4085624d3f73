#pragma once

// SimGrid drives the packet world: ranks are SimGrid actors that reach the collective, wait for its
// end, and (later) compute between; simulated time is SimGrid's clock. Only simgrid_bridge.cpp and
// flow_solver.cpp include SimGrid.

#include <functional>

#include "sim/packet_world.h"

namespace gradhaul {

// Runs the world to the end of all ranks. `keep_going` is asked now and then; when it answers false
// the run ends there, and false is returned. Throws SimulationError when the run stalls.
bool run_under_simgrid(PacketWorld& world, const std::function<bool()>& keep_going);

// SimGrid allows one engine at a time in a process, and no platform twice in one: ends the one
// there is, and all that hangs on it, and makes another. Its clock goes on from where it was.
void renew_simgrid();

}  // namespace gradhaul

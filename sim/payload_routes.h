#pragma once

// How payload gets into the NIC that sends it, and out of the one that receives it: from and to a
// GPU's memory, or the host memory that stands for it (core/gpudirect.h).

#include "sim/fabric.h"

namespace gradhaul {

struct ReadRoutes {
  Route request;
  Route completion;
  Duration reading;  // from a request's arrival until its first byte leaves
};

// Throw SimulationError where there is none.
ReadRoutes read_routes(const Fabric& fabric, int node, int nic, int gpu, bool staged);
Route write_route(const Fabric& fabric, int node, int nic, int gpu, bool staged);
// The other half of what is staged, for a GPU whose slices lie in the memory of `socket`.
Route copy_out_route(const Fabric& fabric, int node, int gpu, int socket);
ReadRoutes copy_in_routes(const Fabric& fabric, int node, int gpu, int socket);

}  // namespace gradhaul

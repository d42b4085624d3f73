#pragma once

// Routes of a Fabric that must lead somewhere, or the reason why they do not: each throws
// SimulationError where there is no way. Routes that take no time are empty all the same.

#include "sim/fabric.h"

namespace gradhaul {

Route existing_wire(const Fabric& fabric, int source_node, int source_nic, int destination_node,
                    int destination_nic);
// Within a node, from GPU to GPU.
Route existing_peer(const Fabric& fabric, int node, int source_gpu, int destination_gpu);
// That NIC and GPU of a node reach each other, whatever for.
void check_dma(const Fabric& fabric, int node, int nic, int gpu);

}  // namespace gradhaul

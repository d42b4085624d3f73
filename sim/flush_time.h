#pragma once

// What a read back by the receiver's NIC takes (core/arrival_flush.h), with nothing else in the
// way.

#include "sim/fabric.h"

namespace gradhaul {

// From its post by the communication thread until that has seen its completion: the work request
// is posted and fetched, one element crosses PCIe, and a completion queue entry is written and
// polled. It takes no bandwidth from others, being 48 bytes of TLPs. Throws SimulationError where
// the NIC does not reach the GPU.
Duration flush_time(const Fabric& fabric, int node, int nic, int gpu);

}  // namespace gradhaul

#pragma once

// Whether flows can lock each other out for ever: where a packet that fills the far buffer of one
// lossless link (InfiniBand credits, PFC) waits for another lossless link, and so on in a circle,
// all may wait for each other. Routes that go up and then down make no circle; any that turn up
// again behind a way down may. What NICs and PCIe behind the network's links do is no part of it:
// they take in what comes without waiting for what they send.

#include <string>
#include <vector>

#include "sim/packet.h"

namespace gradhaul {

// Links in the order in which each waits for the next, the last one for the first; empty: there is
// no such circle.
std::vector<LinkId> buffer_cycle(const Fabric& fabric, const std::vector<FlowSpec>& flows);

// "leaf0-spine0.0.up -> leaf1-spine0.0.down -> … -> leaf0-spine0.0.up"
std::string cycle_in_words(const Fabric& fabric, const std::vector<LinkId>& cycle);

// Throws SimulationError that names it, where there is one.
void refuse_buffer_cycles(const Fabric& fabric, const std::vector<FlowSpec>& flows);

}  // namespace gradhaul

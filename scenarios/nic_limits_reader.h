#pragma once

// What a NIC can do for one queue pair, and of how many it knows at once: keys of a NIC's model
// that say so, and what only packets know of.

#include <string>

#include "core/cluster.h"
#include "core/communication.h"
#include "scenarios/mapping_reader.h"

namespace gradhaul {

// qp_message_rate, qp_cache, mr_cache, context_fetch, qp_setup.
void read_nic_limits(MappingReader& reader, NicModel& nic);

// "registration: per_transfer and qp_cache": what is asked for and is of packets alone, of threads
// and of NICs; empty: nothing.
std::string what_packets_know(const Communication& communication, const Node& node);

}  // namespace gradhaul

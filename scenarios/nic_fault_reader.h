#pragma once

// Faults that name a NIC: what is wrong is the NIC, not its cable.

#include "core/cluster.h"
#include "scenarios/mapping_reader.h"

namespace gradhaul {

// `cluster`: null where it could not be read. Adds to `faults`.
void read_nic_fault(MappingReader& reader, const Cluster* cluster, Faults& faults);

// What is said of them: a sentence each.
std::vector<std::string> nic_fault_notes(const Faults& faults);

}  // namespace gradhaul

#pragma once

// What of a communication plan concerns the threads of the host that post to NICs: how they wait,
// what they take, and when they register memory (core/memory_registration.h).

#include <string>

#include "core/cluster.h"
#include "core/communication.h"
#include "scenarios/mapping_reader.h"

namespace gradhaul {

// `communication`: its profile and `gpudirect` have been read. `cluster`: nothing where it was not
// understood.
void read_communication_thread(MappingReader& reader, const Cluster* cluster,
                               Communication& communication);

// "registration: per_transfer and completion: interrupt": what of it only fidelity packet models;
// else empty.
std::string what_threads_do(const Communication& communication);

}  // namespace gradhaul

#pragma once

// `communication`: the knobs of a collective library.

#include "core/cluster.h"
#include "core/communication.h"
#include "core/workload.h"
#include "scenarios/mapping_reader.h"

namespace gradhaul {

// The cluster and the workload bound what can be said; `cluster` is nothing where it was not
// understood, and what depends on it is then not checked.
Communication read_communication(MappingReader& reader, const Workload& workload,
                                 const Cluster* cluster);

}  // namespace gradhaul

#pragma once

// `communication.transport`: RDMA, or TCP through the hosts' kernels, and what that costs.

#include "core/cluster.h"
#include "core/communication.h"
#include "scenarios/mapping_reader.h"
#include "scenarios/scenario.h"
#include "scenarios/what_if.h"

namespace gradhaul {

// `cluster`: nothing where it could not be read. After protocol, queue pairs and gpudirect.
void read_transport(MappingReader& reader, const Cluster* cluster, Communication& communication);

// What the network carries then. The cluster and the plan have been read without a mistake.
void choose_transport(Scenario& scenario);

// What goes with TCP. `reader`: of the scenario.
void check_tcp(MappingReader& reader, const Scenario& scenario);

// RDMA in its place; more cores for it.
WhatIf made_rdma(const Scenario& scenario);
WhatIf more_cores(const Scenario& scenario);

}  // namespace gradhaul

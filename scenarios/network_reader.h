#pragma once

// A network: scenarios/networks/*.yaml, or the mapping itself under `cluster.network`.

#include "core/cluster.h"
#include "scenarios/mapping_reader.h"

namespace gradhaul {

Network read_network(MappingReader& reader);

}  // namespace gradhaul

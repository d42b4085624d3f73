#pragma once

// Of `communication`: what its queue pairs are set to.

#include "core/communication.h"
#include "scenarios/mapping_reader.h"

namespace gradhaul {

void read_queue_pair_settings(MappingReader& reader, Communication& communication);

}  // namespace gradhaul

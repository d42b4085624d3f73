#pragma once

// `workload`: what is to be communicated.

#include <string>
#include <vector>

#include "core/workload.h"
#include "scenarios/mapping_reader.h"

namespace gradhaul {

// Adds a note for each size that is rounded down to whole elements.
Workload read_workload(MappingReader& reader, std::vector<std::string>& notes);

}  // namespace gradhaul

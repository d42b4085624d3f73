#pragma once

// Names of the choices of a workload, as scenario files, result files and tables write them.

#include <string_view>

#include "core/workload.h"

namespace gradhaul {

std::string_view name_of(Collective collective);  // "all_reduce"
std::string_view name_of(DataType type);          // "bf16"
std::string_view name_of(Reduction reduction);    // "sum"

}  // namespace gradhaul

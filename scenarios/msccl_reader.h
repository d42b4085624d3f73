#pragma once

// Algorithms as Microsoft's MSCCL writes them down (msccl-tools, msccl-scheduler): XML in which an
// <algo> has a <gpu> for each rank, this a <tb> for each thread block, and that a <step> for each
// thing it does. Attributes that only its runtime heeds (minBytes, maxBytes, hasdep, redop) are
// passed over.

#include <optional>
#include <string>

#include "core/communication.h"
#include "core/listed_algorithm.h"
#include "scenarios/config_error.h"

namespace gradhaul {

struct MscclAlgorithm {
  ListedAlgorithm algorithm;
  std::optional<Protocol> protocol;  // "proto"
};

// Nothing where something is wrong, which is reported with line and column of `file`.
std::optional<MscclAlgorithm> read_msccl(const std::string& text, const std::string& file,
                                         Problems& problems);

}  // namespace gradhaul

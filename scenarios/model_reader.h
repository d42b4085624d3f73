#pragma once

// Models that are trained: scenarios/models/*.yaml, or the mapping itself.

#include "core/trained_model.h"
#include "scenarios/mapping_reader.h"

namespace gradhaul {

TrainedModel read_trained_model(MappingReader& reader);

}  // namespace gradhaul

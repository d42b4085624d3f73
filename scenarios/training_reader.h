#pragma once

// `workload.training_step`: a whole step of training instead of one bare collective.

#include <optional>
#include <string>
#include <vector>

#include "core/cluster.h"
#include "core/training_step.h"
#include "scenarios/mapping_reader.h"

namespace gradhaul {

// Nothing where the workload has none; then nothing was read. Else all of the workload was.
std::optional<TrainingStep> read_training_step(MappingReader& workload);

// What the step and the cluster make together; notes what a user should know of it.
void check_training_step(MappingReader& workload, const TrainingStep& step, const Cluster& cluster,
                         std::vector<std::string>& notes);

// The largest message of its buckets: what stands for the step where one collective is asked for.
Workload workload_of(const TrainingStep& step);

}  // namespace gradhaul

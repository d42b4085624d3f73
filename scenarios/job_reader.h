#pragma once

// `jobs`: several collectives that share the cluster, each on GPUs of its own:
//
//   jobs:
//     - {name: a, ranks: 8, placement: packed}
//     - {name: b, placement: [8, 9, 10, 11], start: 1ms, workload: {size: 1GiB}}
//
// What a job's workload and communication leave out is what those of the scenario say.

#include <cstdint>
#include <vector>

#include "core/cluster.h"
#include "core/job.h"
#include "scenarios/mapping_reader.h"

namespace gradhaul {

// `reader`: of the whole scenario, `cluster` its cluster with its topology sized. Reports what is
// wrong; then what is returned is not to be used.
std::vector<Job> read_jobs(MappingReader& reader, const Cluster& cluster, std::uint64_t seed,
                           std::vector<std::string>& notes);

}  // namespace gradhaul

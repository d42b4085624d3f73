#pragma once

// One of several jobs that share a cluster: a collective of its own on GPUs of its own.

#include <cstdint>
#include <string>
#include <vector>

#include "core/cluster.h"
#include "core/communication.h"
#include "core/workload.h"

namespace gradhaul {

struct Job {
  std::string name;
  std::vector<int> gpus;  // of its ranks, over the cluster (Cluster::gpu_of); at least two
  Workload workload;      // of one size
  Communication communication;
  Duration start;
};

// Which GPUs a job asks for, of those that no job before it has.
enum class JobPlacement : std::uint8_t {
  kPacked,      // the first ones, node by node
  kScattered,   // drawn by seed
  kOnePerLeaf,  // the first one below each leaf, leaf by leaf, then the next ones
  kListed,
};

struct JobPlacementRequest {
  JobPlacement placement = JobPlacement::kPacked;
  int ranks = 2;
  std::vector<int> listed;  // kListed: GPUs, none of them anybody else's
};

// The GPUs of each job, whose ranks follow each other by number, or as listed. Listed ones are
// taken first, then jobs choose in their order. Requires a sized topology, and GPUs enough among
// those that the cluster's ranks have.
std::vector<std::vector<int>> place_jobs(const Cluster& cluster,
                                         const std::vector<JobPlacementRequest>& requests,
                                         std::uint64_t seed);

}  // namespace gradhaul

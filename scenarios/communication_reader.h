#pragma once

// `communication`: the knobs of a collective library.

#include <string>
#include <string_view>

#include "core/cluster.h"
#include "core/communication.h"
#include "core/workload.h"
#include "scenarios/mapping_reader.h"

namespace gradhaul {

inline constexpr int kMostChannels = 64;  // as NCCL's MAXCHANNELS

// The cluster and the workload bound what can be said; `cluster` is nothing where it was not
// understood, and what depends on it is then not checked.
// `tuned`: NCCL's tuner is asked, which chooses whatever it is not held to.
Communication read_communication(MappingReader& reader, const Workload& workload,
                                 const Cluster* cluster, bool tuned);

// What is wrong with an algorithm of two levels, within nodes and across them, where the ranks of
// `owner` ("the cluster") see a cluster that has but one of them; else nothing.
std::string missing_level(Collective collective, Algorithm algorithm, const Cluster& cluster,
                          std::string_view owner);

}  // namespace gradhaul

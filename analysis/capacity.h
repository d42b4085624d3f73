#pragma once

// What a resource could do, in words: the rate of the link or kernel, and what its packets' headers
// leave of it for data.

#include <string>

#include "core/cluster.h"
#include "core/result.h"

namespace gradhaul {

// "It can carry 50.0 GB/s each way; the headers of packets of 4096 bytes leave 49.7 GB/s of that
// for data." Empty where the cluster gives no limit, or there is no such resource in it.
std::string capacity_sentence(const ResourceUse& use, const Cluster& cluster, int channels);

}  // namespace gradhaul

#pragma once

// What a resource could do, in words: the rate of the link or kernel, and what its packets' headers
// leave of it for data.

#include <string>

#include "core/cluster.h"
#include "core/result.h"

namespace gradhaul {

// What the uplink of a PCIe switch passes down of reads of host memory, which a root complex
// answers in small pieces, each of which takes a header and a credit of the switch.
struct HostReads {
  Bytes piece;
  double by_link = 0;     // bytes a second
  double by_credits = 0;  // bytes a second
};
HostReads host_reads_through(const Node& node, PcieLink uplink);

// "It can carry 50.0 GB/s each way; the headers of packets of 4096 bytes leave 49.7 GB/s of that
// for data." Of PCIe, where data is staged, what its credits let through of reads of host memory,
// if that is less. Empty where the cluster gives no limit, or there is no such resource in it.
std::string capacity_sentence(const ResourceUse& use, const Cluster& cluster, int channels,
                              bool stages);

}  // namespace gradhaul

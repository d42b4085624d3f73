#include "analysis/time_parts.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "analysis/resource_group.h"
#include "core/assert.h"

namespace gradhaul {

void check_parts(const ResultRow& row) {
  Duration sum;
  for (const TimePart& part : row.parts) {
    GRADHAUL_ASSERT(part.time >= Duration{}, "no part of a time is negative");
    sum += part.time;
  }
  GRADHAUL_ASSERT(sum == row.time, "the parts of a row's time add up to it");
}

std::vector<TimePart> merged_parts(const ResultRow& row) {
  std::map<std::pair<std::string, std::string>, Duration> sums;
  for (const TimePart& part : row.parts) sums[{part.resource, part.cause}] += part.time;
  std::vector<TimePart> parts;
  parts.reserve(sums.size());
  for (const auto& [key, time] : sums) parts.push_back({key.first, key.second, time});
  std::stable_sort(parts.begin(), parts.end(),
                   [](const TimePart& a, const TimePart& b) { return a.time > b.time; });
  return parts;
}

std::vector<PartGroup> grouped_parts(const ResultRow& row) {
  struct Members {
    std::set<std::string_view> names;
    Duration time;
  };
  std::map<std::pair<std::string, std::string>, Members> groups;
  for (const TimePart& part : row.parts) {
    Members& members = groups[{shape_of(part.resource), part.cause}];
    if (!part.resource.empty()) members.names.insert(part.resource);
    members.time += part.time;
  }
  std::vector<PartGroup> result;
  result.reserve(groups.size());
  for (const auto& [key, members] : groups) {
    PartGroup group;
    group.cause = key.second;
    group.time = members.time;
    group.resource_count = static_cast<int>(members.names.size());
    if (group.resource_count > 0) {
      group.resources = common_name({members.names.begin(), members.names.end()});
    }
    result.push_back(std::move(group));
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const PartGroup& a, const PartGroup& b) { return a.time > b.time; });
  return result;
}

std::string cause_in_words(const std::string& cause, const std::string& resource) {
  if (cause == "busy" && resource.find(".reduce") != std::string::npos) return "reducing";
  if (cause == "busy" && resource.find(".thread") != std::string::npos) {
    return "the CPU copies data, or is at something else first";
  }
  if (resource.find(".iommu") != std::string::npos) {
    if (cause == "busy") return "bringing pages of addresses (IOTLB misses), or waiting for that";
    if (cause == "latency") return "translating addresses (IOTLB misses)";
  }
  if (cause == "busy" && resource.find(".ordered") != std::string::npos) {
    return "writing in strict order, one after the other";
  }
  constexpr std::array<std::pair<std::string_view, std::string_view>, 22> kWords{
      {{"busy", "moving data, or waiting for its turn"},
       {"credits", "waiting for credits of the receiving end"},
       {"paused", "paused by the receiving end, whose buffer was full (PFC)"},
       {"pause storm", "told to pause (PFC) by a NIC that nothing had filled up"},
       {"paced", "held to a lower rate by congestion control"},
       {"retransmission", "sending again what was lost, and what came behind it"},
       {"taken for lost", "sending again what others had only overtaken, and was taken for lost"},
       {"ACK timeout", "waiting for the ACK timeout, after a loss that nobody told of"},
       {"no receive posted", "waiting until a receive was posted (RNR)"},
       {"reordering", "waiting for packets that others have overtaken"},
       {"latency", "on the way"},
       {"reads outstanding", "waiting for reads that are on the way"},
       {"slot credits", "waiting for a free receive slot"},
       {"late start", "waiting for a rank that starts later"},
       {"starting copies", "starting copies between GPU and host memory"},
       {"communication thread", "communication thread, at work or at something else first"},
       {"registering memory", "registering memory with NICs"},
       {"flush", "reading back by the receiver's NIC, before the kernel is told"},
       {"context misses", "fetching what the NIC did not hold of queue pairs and memory"},
       {"queue pair rate", "waiting for one queue pair's next work request"},
       {"compute", "computing"},
       {"compute beside collectives", "computing beside the kernels of collectives"}}};
  for (const auto& [name, words] : kWords) {
    if (name == cause) return std::string(words);
  }
  return cause;
}

}  // namespace gradhaul

#pragma once

// The parts of a row's time. They add up to it, to the picosecond; a row where they do not is a
// fault of the program.

#include <string>
#include <vector>

#include "core/result.h"

namespace gradhaul {

void check_parts(const ResultRow& row);  // aborts

// One part for each resource and cause, the largest first, ties in name order.
std::vector<TimePart> merged_parts(const ResultRow& row);

// The parts of all resources of one shape and one cause together.
struct PartGroup {
  std::string resources;  // "node*.nic*"; empty: no resource's
  int resource_count = 0;
  std::string cause;
  Duration time;
};

std::vector<PartGroup> grouped_parts(const ResultRow& row);  // the largest first

// What a cause means at a resource, in words a newcomer understands; the cause itself where it is
// not known.
std::string cause_in_words(const std::string& cause, const std::string& resource);

}  // namespace gradhaul

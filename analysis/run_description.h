#pragma once

// What was run, for the line above a table and for the header of a result file: the parts of a
// request that a reader wants to see again, in words.

#include <string>
#include <string_view>

#include "core/cluster.h"
#include "core/communication.h"

namespace gradhaul {

struct RunDescription {
  std::string scenario;  // its name
  std::string cluster;   // "4 x hgx-h100 over ndr-rails (32 ranks)"
  std::string profile;
  std::string version;  // of gradhaul
};

RunDescription describe_run(const Cluster& cluster, const Communication& communication,
                            std::string_view scenario, std::string_view version);

}  // namespace gradhaul

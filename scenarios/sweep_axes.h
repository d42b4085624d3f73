#pragma once

// The axes of a sweep: keys of a scenario and the values that each takes, from its `vary:` and from
// --vary PATH=A,B,C or PATH=FROM..TO:xFACTOR. Points are all combinations, counted from 0; the last
// axis changes first.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/config_error.h"
#include "scenarios/document.h"

namespace gradhaul {

inline constexpr std::size_t kMostSweepPoints = 1'000'000;

struct SweepAxis {
  std::string path;                 // "cluster.network.mtu"
  std::vector<std::string> values;  // as --set takes them
  Location location;
};

// Of a `vary:` mapping: {cluster.nodes: [2, 4, 8], workload.size: 8B..8GiB:x2, …}; keys may also be
// nested as in the scenario, {cluster: {nodes: [2, 4]}}.
std::vector<SweepAxis> axes_of_tree(const TreeNode& vary, Problems& problems);

// Each "PATH=A,B,C" or "PATH=FROM..TO:xFACTOR", commas within brackets and quotes aside.
std::vector<SweepAxis> axes_of_options(const std::vector<std::string>& options, Problems& problems);

// The scenario's axes, then further ones of the command line, which replaces those of its paths.
std::vector<SweepAxis> joined_axes(std::vector<SweepAxis> scenario,
                                   const std::vector<SweepAxis>& options);

// The product of all numbers of values; no more than kMostSweepPoints + 1.
std::size_t points_of(const std::vector<SweepAxis>& axes);
// One value for each axis.
std::vector<std::string> values_at(const std::vector<SweepAxis>& axes, std::size_t point);
// The same as settings, "PATH=VALUE".
std::vector<std::string> settings_at(const std::vector<SweepAxis>& axes, std::size_t point);

}  // namespace gradhaul

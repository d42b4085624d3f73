#pragma once

// Programs in the Group Operation Assembly Language, as LogGOPSim's schedgen writes them:
//
//   num_ranks 2
//   rank 0 {
//     l1: calc 100              # nanoseconds
//     l2: send 8b to 1 tag 42   # tag, cpu and nic may be left out; the last two are passed over
//     l2 requires l1            # begins when l1 is complete
//   }
//   rank 1 {
//     l1: recv 8b from 0 tag 42
//     l2: calc 100
//     l2 irequires l1           # begins when l1 has begun
//   }
//
// Comments begin with # or // or stand between /* and */.

#include <memory>
#include <optional>
#include <string>

#include "core/cluster.h"
#include "core/goal_program.h"
#include "scenarios/mapping_reader.h"

namespace gradhaul {

// Nothing where something is wrong, which is reported with line and column of `file`.
std::optional<GoalProgram> read_goal(const std::string& text, const std::string& file,
                                     Problems& problems);

// The file that `key` names. Nothing where something is wrong, which is reported.
std::shared_ptr<const GoalProgram> read_goal_file(MappingReader& reader, std::string_view key);

// Reports, at `key`, where the program has more ranks than the cluster or its operations do not
// meet.
void check_goal(MappingReader& reader, std::string_view key, const GoalProgram& program,
                const Cluster& cluster);

}  // namespace gradhaul

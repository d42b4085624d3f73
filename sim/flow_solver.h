#pragma once

// SimGrid's fluid max-min solver, and who asks it: one actor for each conveyor, which carries its
// transfers one after the other. Each conveyor has a host of its own in a star zone, whose route to
// itself is what its flow crosses, so that a platform is as large as there are conveyors and not as
// pairs of hosts.

#include <functional>

#include "sim/flow_paths.h"
#include "sim/flow_progress.h"

namespace gradhaul {

// Runs until all is done or the rest follows. `keep_going` is asked now and then; when it answers
// false the run ends there, and false is returned.
bool run_flows(const FlowPlan& plan, const FlowPaths& paths, FlowProgress& progress,
               const std::function<bool()>& keep_going);

}  // namespace gradhaul

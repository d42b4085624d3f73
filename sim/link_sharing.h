#pragma once

// Whose data crossed which link of a finished task world.

#include <vector>

#include "core/task_result.h"
#include "sim/task_world.h"

namespace gradhaul {

// Resources of which a link carried data of a communicator and of somebody else in one direction;
// of both directions the one that carried more. In the order of names.
std::vector<LinkShare> shared_links(const TaskWorld& world);

}  // namespace gradhaul

#pragma once

// How a command ends that could not do its work.

#include <functional>

namespace gradhaul {

// The exit status of `command`; or, where it threw a ConfigError, FileError or SimulationError,
// that of bad input or of a failed run, after telling what was wrong.
int guarded(const std::function<int()>& command);

}  // namespace gradhaul

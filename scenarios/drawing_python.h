#pragma once

// The Python that draws: analysis/plots/draw.py takes one with matplotlib, which may be missing.

#include <optional>
#include <string>
#include <vector>

namespace gradhaul {

// The exit status of a program found as a shell finds it; nothing where it could not be started or
// was killed. Of open files, `input` becomes its standard input, and all that it says goes to
// `said`.
std::optional<int> status_of(std::vector<std::string> command, int input, int said);

// The first of the one in force and the system's, where a package puts matplotlib, that can run
// `script`; empty: none can. What they say goes to `said`.
std::string drawing_python(const std::string& script, int said);

}  // namespace gradhaul

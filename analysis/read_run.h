#pragma once

// Finds out what a file is and reads it: result files of ours, JSON of nccl-tests and perftest, or
// the output of nccl-tests, perftest and NCCL, which may be mixed in one log. A log is read in one
// pass, of whatever length; JSON is read whole, up to 256 MiB.

#include <istream>
#include <string>

#include "analysis/compared_run.h"

namespace gradhaul {

// `source` is the name for messages. Throws InputError where it can be read as none of these.
ComparedRun read_run(std::istream& stream, const std::string& source);

// The file at `path`, or standard input where it is "-".
ComparedRun read_run_file(const std::string& path);

}  // namespace gradhaul

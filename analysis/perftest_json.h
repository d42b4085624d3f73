#pragma once

// perftest's --out_json (its src/perftest_parameters.c), as releases have written it: with names in
// quotes, and before 23.07 without any and with commas too many; one object of `test_info` and
// `results`, or several in a row. The file names no unit of bandwidth: it is the one that agrees
// with the message rate.

#include <string>
#include <string_view>

#include "analysis/compared_run.h"

namespace gradhaul {

// Whether a file that begins so is one.
bool is_perftest_json(std::string_view beginning);

// Throws InputError where nothing can be made of it.
ComparedRun read_perftest_json(std::string_view text, const std::string& source);

}  // namespace gradhaul

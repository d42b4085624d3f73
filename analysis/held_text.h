#pragma once

// What a plan takes beside its time: of the host, of GPUs and of NICs.

#include <string>
#include <utility>
#include <vector>

#include "core/result.h"

namespace gradhaul {

// {"multiprocessors of each GPU", "16"}, …: those that are known, in a fixed order.
std::vector<std::pair<std::string, std::string>> held_terms(const ResultRow& row);
// "# It takes …" in a line or two; empty where nothing is known.
std::string held_text(const ResultRow& row);

}  // namespace gradhaul

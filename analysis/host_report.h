#pragma once

// What `gradhaul doctor` says of a host, for people: the host as a tree, findings with the worst
// first, and what could not be seen.

#include <string>

#include "core/host_checkup.h"

namespace gradhaul {

std::string host_report(const HostCheckup& checkup, const std::string& version);

// Of it, what is at fault and what could not be seen: without the host's parts and plain facts.
std::string host_faults(const HostCheckup& checkup);

// As nvidia-smi and NCCL write it: "PIX", "PXB", "PHB", "SYS"; "?" where it is not known.
std::string distance_word(const std::optional<PcieDistance>& distance);
std::string severity_word(Severity severity);  // "problem"

}  // namespace gradhaul

#pragma once

// What `gradhaul doctor` says of a host, for programs: schema gradhaul.doctor/1, with everything
// that the report says, unabridged.

#include <string>

#include "core/host_checkup.h"

namespace gradhaul {

std::string host_json(const HostCheckup& checkup, const std::string& version);

}  // namespace gradhaul

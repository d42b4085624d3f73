#pragma once

// `--rdma NAME=VALUE` of measure.

#include <string>
#include <utility>
#include <vector>

#include "backends/verbs/verbs_settings.h"
#include "core/communication.h"

namespace gradhaul {

// What the scenario says of how queue pairs are set up.
VerbsSettings usual_settings(const Communication& communication);

// Reads what was given onto the defaults; throws ConfigError with all that is wrong. In `devices`,
// {rank} stands for this rank.
VerbsSettings rdma_settings(const std::vector<std::string>& given, int rank,
                            VerbsSettings settings = {});

// What each name means, for the help: "devices", "names as NCCL_IB_HCA has them; …".
std::vector<std::pair<std::string, std::string>> rdma_setting_names();

}  // namespace gradhaul

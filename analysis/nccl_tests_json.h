#pragma once

// nccl-tests' -J file (its src/util.cu, from 2.16 on): `results` with the halves `out_of_place` and
// `in_place`, per-iteration statistics, what the tuner chose, and the devices that give the ranks.

#include <nlohmann/json.hpp>
#include <string>

#include "analysis/compared_run.h"

namespace gradhaul {

bool is_nccl_tests_json(const nlohmann::json& json);

// Throws InputError where it is not what nccl-tests writes.
ComparedRun read_nccl_tests_json(const nlohmann::json& json, const std::string& source);

}  // namespace gradhaul

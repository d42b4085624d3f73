#pragma once

// Who slows whom, by how much and on which link: for the reports and files of runs in which jobs
// share a cluster with each other or with background traffic.

#include <nlohmann/json.hpp>
#include <string>

#include "core/result.h"

namespace gradhaul {

// Lines that begin with '#'. `rows`: of the jobs, in their order, at the end of all rows.
std::string company_text(const Company& company, const std::vector<ResultRow>& rows);

nlohmann::ordered_json company_json(const Company& company);

}  // namespace gradhaul

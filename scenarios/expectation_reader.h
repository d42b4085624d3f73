#pragma once

// `expect`: what a scenario asks of its result, {busbw: ">=340GB/s", limited_by: nic}.

#include <string>
#include <vector>

#include "scenarios/mapping_reader.h"

namespace gradhaul {

struct ExpectedValue {
  std::string name;  // time, algbw, busbw, limited_by
  std::string sign;  // "<", "<=", "==", ">=", ">"; of limited_by "=="
  double value = 0;  // seconds, or bytes a second
  std::string limited_by;
};

std::vector<ExpectedValue> read_expectations(MappingReader& reader);

}  // namespace gradhaul

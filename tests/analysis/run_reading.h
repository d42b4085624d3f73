#pragma once

// Logs of tests/analysis/logs, and runs read from texts.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "analysis/read_run.h"

namespace gradhaul::testing {

inline std::string log_path(const std::string& name) {
  return std::string(GRADHAUL_SOURCE) + "/tests/analysis/logs/" + name;
}

inline std::string whole_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

inline ComparedRun run_of(const std::string& text) {
  std::istringstream stream(text);
  return read_run(stream, "log");
}

inline ComparedRun run_of_log(const std::string& name) {
  return run_of(whole_text(log_path(name)));
}

// Names of all logs, without what is expected of them.
inline std::vector<std::string> all_logs() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(log_path(""))) {
    if (entry.path().extension() != ".expected") names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace gradhaul::testing

#pragma once

// Scenarios for tests: text in, a scenario or the list of what is wrong with it out.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "scenarios/scenario.h"

namespace gradhaul {

inline constexpr const char* kSmallScenario =
    "scenario: small\n"
    "workload: {size: 1MiB}\n"
    "cluster: {nodes: 4, node: hgx-h100, network: ndr}\n";

// A file of its own for each test, in the test's temporary folder.
inline std::string temporary_file(const std::string& name) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  std::string unique = std::string(test->test_suite_name()) + "_" + test->name() + "_" + name;
  // Names of parametrised tests have slashes.
  std::replace(unique.begin(), unique.end(), '/', '_');
  return testing::TempDir() + "gradhaul_" + unique;
}

inline void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

struct Reading {
  Scenario scenario;
  std::vector<std::string> problems;  // "LINE:COLUMN: message", the file's own name taken off
};

inline Reading read_file_with(const std::string& path,
                              const std::vector<std::string>& settings = {}) {
  Reading reading;
  try {
    reading.scenario = read_scenario({path, settings, GRADHAUL_SCENARIOS});
  } catch (const ConfigError& error) {
    EXPECT_FALSE(error.problems().empty());
    for (const Problem& problem : error.problems()) {
      std::string text = problem.text();
      if (text.starts_with(path + ":")) text.erase(0, path.size() + 1);
      reading.problems.push_back(text);
    }
  }
  return reading;
}

inline Reading read_text(const std::string& text, const std::vector<std::string>& settings = {}) {
  const std::string path = temporary_file("scenario.yaml");
  write_text(path, text);
  return read_file_with(path, settings);
}

// The scenario of a text that has to be good.
inline Scenario good(const std::string& text, const std::vector<std::string>& settings = {}) {
  Reading reading = read_text(text, settings);
  for (const std::string& problem : reading.problems) ADD_FAILURE() << problem;
  return std::move(reading.scenario);
}

}  // namespace gradhaul

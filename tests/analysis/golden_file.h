#pragma once

// Expected texts kept as files in tests/golden. UPDATE_GOLDEN=1 in the environment writes them
// anew, for a change that is meant; the difference is then read in the version control.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace gradhaul::testing {

inline void expect_golden(const std::string& name, const std::string& actual) {
  const std::string path = std::string(GRADHAUL_SOURCE) + "/tests/golden/" + name;
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << actual;
    return;
  }
  const std::ifstream file(path);
  ASSERT_TRUE(file.good()) << path << " is missing; UPDATE_GOLDEN=1 writes it";
  std::ostringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(actual, expected.str()) << path << ": UPDATE_GOLDEN=1 rewrites it if this is meant";
}

}  // namespace gradhaul::testing

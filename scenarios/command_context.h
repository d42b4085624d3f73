#pragma once

// What every command of the program needs to know.

#include <filesystem>
#include <string>

#include "scenarios/config_error.h"

namespace gradhaul {

struct CommandContext {
  std::filesystem::path library;  // the folder of shipped scenarios
  std::string version;
  std::filesystem::path plots;  // the folder of draw.py
};

// To standard output; false where it could not be written.
bool print(const std::string& text);
// To standard error: every problem on a line of its own, then how many there are.
void print_problems(const ConfigError& error);
// To standard error, with the program's name before it.
void complain(const std::string& text);

}  // namespace gradhaul

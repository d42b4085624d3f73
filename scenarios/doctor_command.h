#pragma once

// gradhaul doctor: what the host it runs on, or one whose /sys and /proc were copied, is made of,
// and what is wrong with it.

#include <string>

#include "scenarios/command_context.h"

namespace gradhaul {

struct DoctorOptions {
  std::string sysfs;  // a folder with sys/ and proc/ of some machine; empty: this host
  std::string watch;  // a duration, as "90s", "10m", "1h"; empty: look once
  std::string json;   // files to write; empty: none
  std::string node_file;
};

// The exit status: kOutsideExpectation where a problem was found.
int run_doctor(const DoctorOptions& options, const CommandContext& context);

}  // namespace gradhaul

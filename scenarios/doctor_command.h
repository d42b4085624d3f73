#pragma once

// gradhaul doctor: what the host it runs on, or one whose /sys and /proc were copied, is made of,
// and what is wrong with it.

#include <optional>
#include <string>

#include "scenarios/command_context.h"

namespace gradhaul {

struct DoctorOptions {
  std::string sysfs;  // a folder with sys/ and proc/ of some machine; empty: this host
  std::string watch;  // a duration, as "90s", "10m", "1h"; empty: look once
  std::string json;   // files to write; empty: none
  std::string node_file;
};

// What a rank tells the others of its host.
struct HostTold {
  std::string host;      // its name
  std::string identity;  // the same of ranks on the same host
  bool looked = false;   // else another rank of this host has
  std::string findings;
  std::string json;
  bool problem = false;

  std::string record() const;
  // Nothing where it is none.
  static std::optional<HostTold> of_record(const std::string& record);
};

// The exit status: kOutsideExpectation where a problem was found. `told`: what was found, where
// there is such a place.
int run_doctor(const DoctorOptions& options, const CommandContext& context, HostTold* told);
// For a rank that prints nothing. `looks`: no other rank does on this host.
HostTold look_for_others(const DoctorOptions& options, const CommandContext& context, bool looks);

}  // namespace gradhaul

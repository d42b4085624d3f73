#include "scenarios/check_command.h"

#include <fmt/format.h>

#include "scenarios/exit_status.h"
#include "scenarios/scenario.h"

namespace gradhaul {

int run_check(const CheckOptions& options, const CommandContext& context) {
  int status = kDone;
  std::string text;
  for (const std::string& name : options.scenarios) {
    try {
      const Scenario scenario = read_scenario({name, options.settings, context.library});
      text += fmt::format("{}: good\n", scenario.file);
      for (const std::string& note : scenario.notes) {
        text += fmt::format("{}: note: {}\n", scenario.file, note);
      }
    } catch (const ConfigError& error) {
      print_problems(error);
      status = kBadInput;
    }
  }
  if (!print(text) && status == kDone) {
    complain("standard output could not be written");
    status = kRunFailed;
  }
  return status;
}

}  // namespace gradhaul

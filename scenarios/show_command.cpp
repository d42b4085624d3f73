#include "scenarios/show_command.h"

#include "analysis/write_file_whole.h"
#include "scenarios/exit_status.h"
#include "scenarios/scenario.h"
#include "scenarios/topology_drawing.h"
#include "scenarios/topology_summary.h"

namespace gradhaul {

int run_show(const ShowOptions& options, const CommandContext& context) {
  try {
    const Scenario scenario = read_scenario({options.scenario, options.settings, context.library});
    if (!options.dot.empty()) write_file_whole(options.dot, topology_dot(scenario.cluster));
    std::string text = commented_yaml(scenario.filled) + "\n";
    for (const std::string& line : topology_summary(scenario)) text += "# " + line + "\n";
    if (print(text)) return kDone;
    complain("standard output could not be written");
    return kRunFailed;
  } catch (const ConfigError& error) {
    print_problems(error);
  } catch (const FileError& error) {
    complain(error.what());
  }
  return kBadInput;
}

}  // namespace gradhaul

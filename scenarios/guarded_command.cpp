#include "scenarios/guarded_command.h"

#include <fmt/format.h>

#include "analysis/write_file_whole.h"
#include "core/prediction_request.h"
#include "scenarios/command_context.h"
#include "scenarios/exit_status.h"

namespace gradhaul {

int guarded(const std::function<int()>& command) {
  try {
    return command();
  } catch (const ConfigError& error) {
    print_problems(error);
    return kBadInput;
  } catch (const FileError& error) {
    complain(error.what());
    return kBadInput;
  } catch (const SimulationError& error) {
    complain(fmt::format("the run failed: {}", error.what()));
    return kRunFailed;
  }
}

}  // namespace gradhaul

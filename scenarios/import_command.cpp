#include "scenarios/import_command.h"

#include <fmt/format.h>

#include "backends/doctor/known_devices.h"
#include "scenarios/exit_status.h"
#include "scenarios/guarded_command.h"
#include "scenarios/nccl_topology_reader.h"
#include "scenarios/node_draft_text.h"
#include "scenarios/references.h"

namespace gradhaul {
namespace {

NodeDraft::Device identify(int vendor, int device) {
  NodeDraft::Device described;
  described.name = vendor < 0 || device < 0 ? std::string("unknown") : device_name(vendor, device);
  if (const KnownDevice* const known = known_device(vendor, device)) {
    described.shipped = known->shipped;
  }
  return described;
}

int import_file(const ImportOptions& options) {
  if (options.kind != "nccl-topology") {
    refuse("import " + options.kind,
           "not available in this version; it has nccl-topology, which NCCL writes to "
           "NCCL_TOPO_DUMP_FILE");
  }
  Problems problems;
  const Location asked{options.file, 0, 0};
  const auto text = read_file(options.file, asked, problems);
  const auto draft =
      text ? read_nccl_topology(*text, options.file, identify, problems) : std::nullopt;
  if (!draft) throw ConfigError(problems.sorted());
  if (print(node_draft_text(*draft, options.file, "import"))) return kDone;
  complain("standard output could not be written");
  return kRunFailed;
}

}  // namespace

int run_import(const ImportOptions& options, const CommandContext& /*context*/) {
  return guarded([&] { return import_file(options); });
}

}  // namespace gradhaul

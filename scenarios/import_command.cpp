#include "scenarios/import_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <sstream>

#include "analysis/log_lines.h"
#include "backends/doctor/known_devices.h"
#include "scenarios/exit_status.h"
#include "scenarios/guarded_command.h"
#include "scenarios/hwloc_reader.h"
#include "scenarios/nccl_graph_reader.h"
#include "scenarios/nccl_topology_reader.h"
#include "scenarios/node_draft_text.h"
#include "scenarios/nvidia_topology_reader.h"
#include "scenarios/references.h"

namespace gradhaul {
namespace {

constexpr std::array kKinds = {"nccl-topology", "nccl-graph", "lstopo", "nvidia-smi"};

IdentifiedDevice identify(int vendor, int device) {
  IdentifiedDevice found;
  found.device.name =
      vendor < 0 || device < 0 ? std::string("unknown") : device_name(vendor, device);
  if (const KnownDevice* const known = known_device(vendor, device)) {
    found.device.shipped = known->shipped;
    found.nvlink = known->nvlink;
    found.nvlink_efficiency = known->nvlink_efficiency;
  }
  return found;
}

// As a terminal, a pipe or an editor left it.
std::string plain_lines(const std::string& text) {
  std::istringstream stream(text);
  LogLines lines(stream);
  std::string plain;
  std::int64_t number = 1;
  while (const auto line = lines.next()) {
    for (; number < line->number; ++number) plain += '\n';
    plain += line->text;
  }
  return plain + '\n';
}

std::optional<NodeDraft> read_node(const ImportOptions& options, const std::string& text,
                                   Problems& problems) {
  if (options.kind == "nccl-topology") {
    return read_nccl_topology(text, options.file, identify, problems);
  }
  if (options.kind == "lstopo") return read_hwloc(text, options.file, identify, problems);
  return read_nvidia_topology(plain_lines(text), options.file, problems);
}

// A model that the user names stands instead of what the file tells.
void name_model(const std::string& option, const std::string& model, const Library& library,
                NodeDraft::Device& device) {
  if (model.empty()) return;
  const std::vector<std::string> names = library.names("devices");
  if (std::find(names.begin(), names.end(), model) == names.end()) {
    refuse(option + " " + model,
           fmt::format("no such device is shipped; there are {}", fmt::join(names, ", ")));
  }
  device.name = model;
  device.shipped = model;
}

std::string node_text(const ImportOptions& options, const CommandContext& context,
                      NodeDraft draft) {
  const Library library(context.library);
  name_model("--gpu", options.gpu, library, draft.gpu);
  name_model("--nic", options.nic, library, draft.nic);
  return node_draft_text(draft, options.file, "import");
}

std::string rings_text(const ImportOptions& options, const NcclRings& rings) {
  const bool leave = rings.channels.front().entering_net >= 0;
  if (leave && options.nodes == 0) {
    refuse(options.file, "its rings leave the node by NICs: --nodes says how many nodes they join");
  }
  if (!leave && options.nodes > 1) {
    refuse(fmt::format("--nodes {}", options.nodes), "the rings of this file stay in one node");
  }
  return nccl_rings_text(rings, std::max(options.nodes, 1), options.file);
}

int import_file(const ImportOptions& options, const CommandContext& context) {
  const bool rings = options.kind == "nccl-graph";
  if (std::find(kKinds.begin(), kKinds.end(), options.kind) == kKinds.end()) {
    refuse("import " + options.kind,
           fmt::format("no such kind; there are {}", fmt::join(kKinds, ", ")));
  }
  if (rings && !(options.gpu + options.nic).empty()) {
    refuse("import nccl-graph", "--gpu and --nic are for nodes; rings have none");
  }
  if (!rings && options.nodes != 0) refuse("import " + options.kind, "--nodes is for nccl-graph");
  Problems problems;
  const Location asked{options.file, 0, 0};
  const auto text = read_file(options.file, asked, problems);
  std::string written;
  if (text && rings) {
    if (const auto read = read_nccl_graph(*text, options.file, problems)) {
      written = rings_text(options, *read);
    }
  } else if (text) {
    auto draft = read_node(options, *text, problems);
    if (draft) written = node_text(options, context, std::move(*draft));
  }
  if (written.empty()) throw ConfigError(problems.sorted());
  if (print(written)) return kDone;
  complain("standard output could not be written");
  return kRunFailed;
}

}  // namespace

void add_import(CLI::App& app, ImportOptions& options) {
  CLI::App* command =
      app.add_subcommand("import", "What another tool knows of a machine, as a node file");
  command
      ->add_option(
          "KIND", options.kind,
          "nccl-topology (what NCCL wrote to NCCL_TOPO_DUMP_FILE), lstopo (lstopo --of xml "
          "--whole-io) or nvidia-smi (nvidia-smi topo -m): a node; nccl-graph "
          "(NCCL_GRAPH_DUMP_FILE): the communication of a scenario, with NCCL's rings")
      ->required();
  command
      ->add_option("FILE", options.file,
                   "What to read; the node, or the communication, goes to standard output")
      ->required();
  command->add_option("--gpu", options.gpu, "The model of its GPUs, as h100-sxm")
      ->type_name("MODEL");
  command->add_option("--nic", options.nic, "The model of its NICs, as connectx-7")
      ->type_name("MODEL");
  command
      ->add_option("--nodes", options.nodes,
                   "Of nccl-graph: how many nodes the rings join, each as the one of the file")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
}

int run_import(const ImportOptions& options, const CommandContext& context) {
  return guarded([&] { return import_file(options, context); });
}

}  // namespace gradhaul

#include "scenarios/node_draft_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/assert.h"
#include "scenarios/device_reader.h"

namespace gradhaul {
namespace {

// What the shipped nodes with these processors say (scenarios/nodes); sysfs tells nothing of it.
struct ProcessorFacts {
  const char* name;
  const char* comment;
  const char* socket_link;
  const char* root_complex;
  const char* host_memory;
};

constexpr ProcessorFacts kProcessors[] = {
    {"epyc-rome-milan", "as in dgx-a100 (AMD EPYC Rome)", "{bandwidth: 108GB/s, latency: 100ns}",
     "{peer_to_peer_read: 22GB/s, peer_to_peer_write: 22GB/s, peer_to_peer_across_sockets: "
     "16GB/s,\n"
     "   latency: 300ns, read_completion: 64B}",
     "{bandwidth: 165GB/s}"},
    {"sapphire-rapids", "as in hgx-h100 (Xeon, Sapphire Rapids)",
     "{bandwidth: 90GB/s, latency: 100ns}",
     "{peer_to_peer_across_sockets: 22GB/s, latency: 300ns, read_completion: 64B, tlp_split: 64B}",
     "{bandwidth: 250GB/s}"},
    {"skylake", "as in bad-cross-socket (Xeon, Skylake and Cascade Lake)",
     "{bandwidth: 62GB/s, latency: 100ns}",
     "{peer_to_peer_read: 8GB/s, peer_to_peer_write: 9.5GB/s, peer_to_peer_across_sockets: "
     "10GB/s,\n"
     "   latency: 300ns, read_completion: 64B, tlp_split: 64B}",
     "{bandwidth: 105GB/s}"},
};
constexpr ProcessorFacts kUnknownProcessors = {
    "",
    "these processors are not known here: no limit but the links'; replace them by what you know",
    "{bandwidth: 62GB/s, latency: 100ns}", "{latency: 300ns, read_completion: 64B}",
    "{bandwidth: 100GB/s}"};

const ProcessorFacts& facts_of(const std::string& cpu) {
  for (const ProcessorFacts& facts : kProcessors) {
    if (cpu == facts.name) return facts;
  }
  return kUnknownProcessors;
}

std::string link_text(const std::optional<PcieLink>& link) {
  return format_pcie_link(link.value_or(PcieLink{4, 16}));
}

// Latencies and throughputs of the nearest shipped models, which for devices like these hardly
// differ; rates and links are the host's.
std::string unknown_gpu(const NodeDraft::Device& gpu) {
  return fmt::format(
      "  # No shipped model is this GPU, {}. Its PCIe link was read; the rest stands in\n"
      "  # from a100-sxm. Replace memory_bandwidth and reduce_bandwidth by its data sheet and by\n"
      "  # measurement.\n"
      "  model:\n"
      "    name: {}\n"
      "    kind: gpu\n"
      "    pcie: {}\n"
      "    memory_bandwidth: 2039GB/s\n"
      "    reduce_bandwidth: 22.5GB/s\n"
      "    read_latency: 700ns\n"
      "    write_latency: 150ns\n"
      "    kernel_launch: 4us\n"
      "    flag_latency: 500ns\n"
      "    copy_setup: 6us\n"
      "    estimates: [memory_bandwidth, reduce_bandwidth, read_latency, write_latency, "
      "kernel_launch, flag_latency, copy_setup]\n",
      gpu.name, gpu.name, link_text(gpu.pcie));
}

std::string unknown_nic(const NodeDraft::Device& nic) {
  const std::int64_t megabits =
      nic.rate ? std::max<std::int64_t>(nic.rate->bits_per_second / 1'000'000, 1) : 100'000;
  return fmt::format(
      "  # No shipped model is this NIC, {}. {}; the\n"
      "  # latencies stand in from connectx-5.\n"
      "  model:\n"
      "    name: {}\n"
      "    kind: nic\n"
      "    rate: {}Mb/s\n"
      "    pcie: {}\n"
      "    post: 75ns\n"
      "    doorbell: 200ns\n"
      "    wqe_fetch: 350ns\n"
      "    transmit_latency: 200ns\n"
      "    receive_latency: 200ns\n"
      "    completion: 220ns\n"
      "    transmit_buffer: 256KiB\n"
      "    estimates: [{}post, doorbell, wqe_fetch, transmit_latency, receive_latency, completion, "
      "transmit_buffer]\n",
      nic.name, nic.rate ? "Its rate and PCIe link were read" : "The host did not tell its rate",
      nic.name, megabits, link_text(nic.pcie), nic.rate ? "" : "rate, ");
}

std::string devices_text(const NodeDraft& draft) {
  std::string text = fmt::format("gpus:  # {}\n  count: {}\n", draft.gpu.name, draft.gpu_count);
  text += draft.gpu.shipped.empty() ? unknown_gpu(draft.gpu)
                                    : fmt::format("  model: {}\n", draft.gpu.shipped);
  if (draft.nic_count == 0) {
    return text + "nics: {count: 0}  # none was found: such a node predicts only by itself\n";
  }
  text += fmt::format("nics:  # {}", draft.nic.name);
  if (draft.nic.rate) {
    text +=
        fmt::format(", at {:.4g} Gb/s", static_cast<double>(draft.nic.rate->bits_per_second) / 1e9);
  }
  text += fmt::format("\n  count: {}\n", draft.nic_count);
  text += draft.nic.shipped.empty() ? unknown_nic(draft.nic)
                                    : fmt::format("  model: {}\n", draft.nic.shipped);
  return text;
}

std::string tree_text(const NodeDraft& draft) {
  std::string text = "pcie:\n";
  for (std::size_t i = 0; i < draft.pcie.size(); ++i) {
    const PcieBranch& branch = draft.pcie[i];
    text += "  - {";
    if (!branch.switch_name.empty()) text += "switch: " + branch.switch_name + ", ";
    text += "parent: " + branch.parent;
    if (branch.link) text += ", link: " + format_pcie_link(*branch.link);
    if (!branch.devices.empty()) {
      text += fmt::format(", devices: [{}]", fmt::join(branch.devices, ", "));
    }
    text += "}";
    if (!draft.places[i].empty()) text += "  # " + draft.places[i];
    text += "\n";
  }
  return text;
}

}  // namespace

std::string node_draft_text(const NodeDraft& draft, const std::string& place, const char* command) {
  GRADHAUL_ASSERT(draft.gpu_count > 0, "a node has a GPU");
  // A path may hold a line's end, which would end the comment.
  std::string source = place;
  std::replace_if(
      source.begin(), source.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  const ProcessorFacts& processors = facts_of(draft.cpu);
  std::string text = fmt::format(
      "# Written by gradhaul {}, of {}.\n"
      "# PCIe tree, devices and links were read there, where of processors and memory no "
      "bandwidth\n"
      "# stands: those values are {}.\n",
      command, source, processors.comment);
  for (const std::string& note : draft.notes) text += "# Note: " + note + ".\n";
  text += fmt::format(
      "name: {}\nsockets: {}\nsocket_link: {}\nroot_complex:\n  {}\nhost_memory: {}\n", draft.name,
      draft.sockets, processors.socket_link, processors.root_complex, processors.host_memory);
  text += devices_text(draft);
  text += tree_text(draft);
  std::string estimates = "socket_link, root_complex, host_memory.bandwidth";
  if (draft.nvlink) {
    text += fmt::format(
        "nvlink: {{kind: nvswitch, bandwidth: {}GB/s, efficiency: {}, latency: 700ns}}\n",
        draft.nvlink->bits_per_second / 8'000'000'000, draft.nvlink_efficiency.value_or(0.8));
    estimates += ", nvlink.latency";
  }
  text += fmt::format("pcie_settings: {{max_payload: {}B, max_read_request: {}B, tags: 256}}\n",
                      draft.max_payload.value_or(Bytes{256}).count,
                      draft.max_read_request.value_or(Bytes{4096}).count);
  estimates += ", pcie_settings.tags";
  return text + fmt::format("estimates: [{}]\n", estimates);
}

}  // namespace gradhaul

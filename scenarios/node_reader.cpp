#include "scenarios/node_reader.h"

#include <fmt/format.h>

#include <array>

#include "scenarios/device_reader.h"
#include "scenarios/pcie_reader.h"

namespace gradhaul {
namespace {

using namespace literals;

constexpr std::int64_t kMostSockets = 8;
constexpr std::int64_t kMostDevices = 64;                // of a kind in a node
constexpr std::int64_t kLongestLatency = 1'000'000'000;  // 1 ms

NumberSpec rate_or_unlimited() {
  return {.otherwise = {"unlimited"},
          .least = 1'000'000,
          .most = (100'000_GBps).bits_per_second,
          .words = {{"unlimited", kUnlimited.bits_per_second}}};
}

SocketLink read_socket_link(MappingReader reader) {
  SocketLink link;
  link.bandwidth = reader.rate("bandwidth", rate_or_unlimited());
  link.latency =
      reader.time("latency", {.otherwise = {"100ns"}, .least = 0, .most = kLongestLatency});
  reader.finish();
  return link;
}

RootComplex read_root_complex(MappingReader reader) {
  RootComplex root;
  root.peer_to_peer_read = reader.rate("peer_to_peer_read", rate_or_unlimited());
  root.peer_to_peer_write = reader.rate("peer_to_peer_write", rate_or_unlimited());
  NumberSpec across = rate_or_unlimited();
  across.words.push_back({"none", 0});
  root.peer_to_peer_across_sockets = reader.rate("peer_to_peer_across_sockets", across);
  root.latency = reader.time(
      "latency",
      {.otherwise = {"300ns", true, "", "200ns", "400ns"}, .least = 0, .most = kLongestLatency});
  const char* const pieces[] = {"64B", "128B"};
  const std::size_t piece =
      reader.choice("read_completion", {.otherwise = {"64B"}, .available = {"64B", "128B"}});
  root.read_completion = {parse_quantity(pieces[piece], Dimension::kSize).value.value_or(64)};
  const Bytes split = reader.bytes(
      "tlp_split", {.otherwise = {"none"}, .least = 16, .most = 4096, .words = {{"none", 0}}});
  if (split.count > 0) root.tlp_split = split;
  reader.finish();
  return root;
}

void read_host_memory(MappingReader reader, Node& node) {
  node.host_memory_bandwidth = reader.rate("bandwidth", rate_or_unlimited());
  // Local DRAM, in UCX's model of a topology (src/ucs/sys/topo).
  node.host_memory_latency =
      reader.time("latency", {.otherwise = {"100ns", true, "UCX's local memory latency"},
                              .least = 0,
                              .most = kLongestLatency});
  reader.finish();
}

void report_missing_model(MappingReader& reader) {
  if (reader.broken()) return;
  reader.report("model",
                "\"model\" is missing: a name in scenarios/devices, a path, or the mapping itself");
}

// Whether it is known what the GPUs are.
bool read_gpus(MappingReader reader, Node& node) {
  node.gpu_count = static_cast<int>(reader.count("count", {.least = 1, .most = kMostDevices}));
  std::optional<GpuModel> gpu;
  if (reader.has("model")) {
    MappingReader model = reader.mapping("model");
    gpu = read_gpu_model(model);
  } else {
    reader.raw("model");
    report_missing_model(reader);
  }
  if (gpu) node.gpu = *gpu;
  reader.finish();
  return gpu.has_value();
}

bool read_nics(MappingReader reader, Node& node) {
  node.nic_count = static_cast<int>(
      reader.count("count", {.otherwise = {"0"}, .least = 0, .most = kMostDevices}));
  std::optional<NicModel> nic;
  if (reader.has("model")) {
    MappingReader model = reader.mapping("model");
    nic = read_nic_model(model);
  } else {
    reader.raw("model");
    if (node.nic_count > 0) report_missing_model(reader);
  }
  if (nic) node.nic = *nic;
  const std::int64_t ports = reader.count("ports", {.otherwise = {"1"}, .least = 1, .most = 2});
  node.bonded_nics = reader.truth("bond", {"false"});
  if (node.bonded_nics != (ports == 2)) {
    reader.report(node.bonded_nics ? "bond" : "ports",
                  "ports: 2 and bond: true go together: two ports that are not bonded are two NICs "
                  "(count), and one port has nothing to be bonded with");
  }
  reader.finish();
  return nic || node.nic_count == 0;
}

std::optional<Nvlink> read_nvlink(MappingReader& parent) {
  const TreeNode* node = parent.raw("nvlink");
  const bool none =
      node != nullptr && node->kind == TreeNode::Kind::kScalar && node->text == "none";
  if (node == nullptr || none || node->kind == TreeNode::Kind::kNull) {
    parent.record("nvlink", FilledValue::Kind::kText, "none", node);
    return std::nullopt;
  }
  MappingReader reader = parent.mapping("nvlink");
  Nvlink link;
  reader.choice("kind", {.otherwise = {"nvswitch"},
                         .available = {"nvswitch"},
                         .unavailable = {"mesh", "bridge", "ring", "hybrid_cube_mesh"}});
  link.bandwidth =
      reader.rate("bandwidth", {.least = 1'000'000, .most = (100'000_GBps).bits_per_second});
  link.efficiency =
      reader.real("efficiency", {.otherwise = {"1"}, .least = 0, .most = 1, .above_least = true});
  link.latency = reader.time(
      "latency",
      {.otherwise = {"700ns", true, "", "700ns", "1us"}, .least = 0, .most = kLongestLatency});
  reader.finish();
  return link;
}

void check_devices(MappingReader& reader, const Node& node) {
  if (node.nic_count == 0) return;
  if (node.gpu.pcie.has_value() != node.nic.pcie.has_value()) {
    const std::string& with = node.gpu.pcie ? node.gpu.name : node.nic.name;
    const std::string& without = node.gpu.pcie ? node.nic.name : node.gpu.name;
    reader.report_together(
        {"nics", "gpus", "nics.model", "gpus.model", "nics.model.pcie", "gpus.model.pcie"},
        fmt::format("{} hangs on PCIe and {} on none; both do, or neither does", with, without));
  }
  const Bytes buffer = node.nic.transmit_buffer;
  const Bytes request = node.pcie_settings.max_read_request;
  if (node.nic.pcie && buffer.count > 0 && buffer < request) {
    reader.report_together(
        {"nics", "nics.model", "nics.model.transmit_buffer", "pcie_settings",
         "pcie_settings.max_read_request"},
        fmt::format("the transmit_buffer of {}, {}B, never holds what one read asks for, "
                    "max_read_request, {}B",
                    node.nic.name, buffer.count, request.count));
  }
}

}  // namespace

ReadNode read_node(MappingReader& reader) {
  ReadNode result;
  Node& node = result.node;
  node.name = read_name(reader);
  constexpr std::array kCpus{CpuVendor::kOther, CpuVendor::kIntel, CpuVendor::kAmd};
  node.cpu = kCpus[reader.choice(
      "cpu", {.otherwise = {"other"}, .available = {"other", "intel", "amd"}, .unavailable = {}})];
  node.sockets = static_cast<int>(
      reader.count("sockets", {.otherwise = {"1"}, .least = 1, .most = kMostSockets}));
  node.socket_link = read_socket_link(reader.mapping("socket_link"));
  node.root_complex = read_root_complex(reader.mapping("root_complex"));
  read_host_memory(reader.mapping("host_memory"), node);
  bool devices_known = false;
  if (reader.has("gpus")) {
    devices_known = read_gpus(reader.mapping("gpus"), node);
  } else {
    reader.raw("gpus");
    if (!reader.broken()) {
      reader.report("gpus", "\"gpus\" is missing, as gpus: {count: 8, model: h100-sxm}");
    }
  }
  devices_known = read_nics(reader.mapping("nics"), node) && devices_known;
  node.pcie = read_pcie_tree(reader, node, devices_known);
  node.nvlink = read_nvlink(reader);
  MappingReader settings = reader.mapping("pcie_settings");
  node.pcie_settings = read_pcie_settings(settings);
  if (reader.good() && devices_known) check_devices(reader, node);
  reader.finish();
  result.whole = devices_known && !reader.broken() && reader.good();
  return result;
}

}  // namespace gradhaul

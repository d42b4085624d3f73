#include "scenarios/pcie_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "scenarios/device_reader.h"
#include "scenarios/did_you_mean.h"

namespace gradhaul {
namespace {

using TreeKind = TreeNode::Kind;

std::set<std::string> device_names(const Node& node, bool devices_known) {
  const int gpus = node.gpu.pcie || !devices_known ? node.gpu_count : 0;
  const int nics = node.nic.pcie || !devices_known ? node.nic_count : 0;
  std::set<std::string> names;
  for (int i = 0; i < gpus; ++i) names.insert(fmt::format("gpu{}", i));
  for (int i = 0; i < nics; ++i) names.insert(fmt::format("nic{}", i));
  return names;
}

// Names that mean something else already: gpu0, nic3, socket1.
bool is_taken_name(const std::string& name) {
  for (const std::string_view kind : {"gpu", "nic", "socket"}) {
    const bool number = name.size() > kind.size() &&
                        std::all_of(name.begin() + static_cast<std::ptrdiff_t>(kind.size()),
                                    name.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (name.starts_with(kind) && number) return true;
  }
  return false;
}

bool is_switch_name(const std::string& name) {
  return !name.empty() && !is_taken_name(name) && name != "socket_link" &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-';
         });
}

class TreeReader {
 public:
  TreeReader(const Node& node, bool devices_known, Problems& problems)
      : node_(node), problems_(problems), devices_(device_names(node, devices_known)) {}

  void read_entry(const TreeNode& entry, FilledValue& filled) {
    MappingReader reader(&entry, entry.location, filled, problems_);
    if (reader.broken()) return;
    Placed placed{{}, entry.location, entry.location};
    PcieBranch& branch = placed.branch;
    if (reader.has("switch")) branch.switch_name = reader.text("switch", {});
    reader.raw("switch");
    branch.parent = reader.text("parent", {});
    placed.parent_location = reader.location("parent");
    placed.location = reader.location("switch");
    if (!reader.has("parent")) {
      reader.report("parent", "\"parent\" is missing: a socket (socket0) or another switch");
    }
    read_link(reader, branch);
    read_devices(reader, branch);
    reader.finish();
    check_switch_name(reader, branch.switch_name);
    placed_.push_back(std::move(placed));
  }

  void check_whole(const Location& tree) {
    for (const Placed& placed : placed_) check_parent(placed);
    for (const Placed& placed : placed_) check_circle(placed);
    std::vector<std::string> absent;
    for (const std::string& device : devices_) {
      if (device_places_.count(device) == 0) absent.push_back(device);
    }
    if (!absent.empty()) {
      problems_.add(tree,
                    fmt::format("the pcie tree lacks {}: every device hangs at a switch or at "
                                "a socket",
                                fmt::join(absent, ", ")));
    }
  }

  std::vector<PcieBranch> branches() const {
    std::vector<PcieBranch> branches;
    for (const Placed& placed : placed_) branches.push_back(placed.branch);
    return branches;
  }

 private:
  struct Placed {
    PcieBranch branch;
    Location location;
    Location parent_location;
  };

  static void read_link(MappingReader& reader, PcieBranch& branch) {
    if (!reader.has("link")) {
      reader.raw("link");
      if (!branch.switch_name.empty()) {
        reader.report("switch", fmt::format("\"link\" is missing: the uplink of {}, as gen5x16",
                                            branch.switch_name));
      }
      return;
    }
    const std::string text = reader.text("link", {});
    if (!reader.has_scalar("link")) return;
    branch.link = parse_pcie_link(text);
    if (!branch.link) {
      reader.report("link", fmt::format("link: \"{}\" is no PCIe link; it is {}", text,
                                        describe_pcie_link()));
    }
  }

  void read_devices(MappingReader& reader, PcieBranch& branch) {
    const TreeNode* list = reader.raw("devices");
    FilledValue& filled = reader.record("devices", FilledValue::Kind::kList, "", list);
    if (list == nullptr || list->kind == TreeKind::kNull) {
      if (branch.switch_name.empty()) {
        reader.report("devices", "\"devices\" is missing: what hangs at this socket");
      }
      return;
    }
    if (list->kind != TreeKind::kSequence) {
      reader.report("devices", "\"devices\" is a list, as [gpu0, nic0]");
      return;
    }
    for (const TreeNode& item : list->children) {
      if (!check_device(item)) continue;
      branch.devices.push_back(item.text);
      FilledValue& name = filled.children.emplace_back();
      name.text = item.text;
    }
  }

  bool check_device(const TreeNode& item) {
    if (item.kind != TreeKind::kScalar) {
      problems_.add(item.location, "a device is a name, as gpu0 or nic0");
      return false;
    }
    if (devices_.count(item.text) == 0) {
      problems_.add(item.location, no_such_device(item.text));
      return false;
    }
    const auto [place, first] = device_places_.emplace(item.text, item.location);
    if (!first) {
      problems_.add(
          item.location,
          fmt::format("{} is in the pcie tree twice; first at {}", item.text,
                      place->second.option() ? place->second.source
                                             : fmt::format("line {}", place->second.line)));
    }
    return first;
  }

  std::string no_such_device(const std::string& name) const {
    const bool gpu = name.starts_with("gpu");
    if ((gpu && !node_.gpu.pcie) || (name.starts_with("nic") && !node_.nic.pcie)) {
      return fmt::format("{} hangs on no PCIe: its model says \"pcie: none\"", name);
    }
    if (is_taken_name(name) && (gpu || name.starts_with("nic"))) {
      const int count = gpu ? node_.gpu_count : node_.nic_count;
      return fmt::format(
          "no device is called {}: the node has {} {}s{}", name, count, gpu ? "gpu" : "nic",
          count == 0 ? "" : fmt::format(", {0}0 to {0}{1}", gpu ? "gpu" : "nic", count - 1));
    }
    return fmt::format("no device is called \"{}\"{}; they are called gpu0, nic0 and so on", name,
                       did_you_mean(name, {devices_.begin(), devices_.end()}));
  }

  void check_switch_name(MappingReader& reader, const std::string& name) {
    if (!reader.has("switch") || reader.location("switch").source.empty()) return;
    if (!is_switch_name(name)) {
      reader.report(
          "switch",
          fmt::format("\"{}\" is no name for a switch; call it sw0, sw1 and so on", name));
    }
    if (!parents_.emplace(name, reader.has("parent") ? reader.node()->find("parent")->text : "")
             .second) {
      reader.report("switch", fmt::format("two switches are called {}", name));
    }
  }

  bool is_socket(const std::string& name) const {
    for (int i = 0; i < node_.sockets; ++i) {
      if (name == fmt::format("socket{}", i)) return true;
    }
    return false;
  }

  void check_parent(const Placed& placed) {
    const std::string& parent = placed.branch.parent;
    if (parent.empty() || is_socket(parent)) return;
    std::vector<std::string> known;
    known.reserve(static_cast<std::size_t>(node_.sockets) + parents_.size());
    for (int i = 0; i < node_.sockets; ++i) known.push_back(fmt::format("socket{}", i));
    for (const auto& [name, above] : parents_) known.push_back(name);
    if (parents_.count(parent) == 0) {
      problems_.add(placed.parent_location,
                    fmt::format("no socket or switch is called \"{}\"{}; there are {}", parent,
                                did_you_mean(parent, known), fmt::join(known, ", ")));
    } else if (placed.branch.switch_name.empty()) {
      problems_.add(placed.parent_location,
                    fmt::format("devices without a switch of their own hang at a socket; add them "
                                "to the devices of {}",
                                parent));
    }
  }

  // A switch that is above itself.
  void check_circle(const Placed& placed) {
    const std::string& start = placed.branch.switch_name;
    std::string at = placed.branch.parent;
    for (std::size_t steps = 0; !start.empty() && steps <= parents_.size(); ++steps) {
      if (at == start) {
        problems_.add(placed.parent_location,
                      fmt::format("{} hangs below itself; the way up ends at a socket", start));
        return;
      }
      const auto next = parents_.find(at);
      if (next == parents_.end()) return;
      at = next->second;
    }
  }

  const Node& node_;
  Problems& problems_;
  const std::set<std::string> devices_;
  std::vector<Placed> placed_;
  std::map<std::string, Location> device_places_;
  std::map<std::string, std::string> parents_;  // of each switch
};

}  // namespace

std::vector<PcieBranch> read_pcie_tree(MappingReader& node_reader, const Node& node,
                                       bool devices_known) {
  const TreeNode* tree = node_reader.raw("pcie");
  FilledValue& filled = node_reader.record("pcie", FilledValue::Kind::kEntries, "", tree);
  TreeReader reader(node, devices_known, node_reader.problems());
  if (tree != nullptr && tree->kind != TreeKind::kSequence && tree->kind != TreeKind::kNull) {
    if (tree->kind != TreeKind::kBroken) {
      node_reader.report("pcie",
                         "\"pcie\" is a list of switches, as "
                         "- {switch: sw0, parent: socket0, link: gen5x16, devices: [gpu0]}");
    }
    return {};
  }
  if (tree != nullptr) {
    for (const TreeNode& entry : tree->children) {
      FilledValue& branch = filled.children.emplace_back();
      branch.origin = {false, entry.location, entry.estimate, entry.source};
      reader.read_entry(entry, branch);
    }
  }
  if (node_reader.good() && devices_known) reader.check_whole(node_reader.location("pcie"));
  return reader.branches();
}

namespace {

constexpr std::string_view kEstimate = "scaled from published advertisements";

// A power of two between 128 and 4096: PCIe Base Specification, Device Control register.
Bytes read_payload_size(MappingReader& reader, std::string_view key, std::string_view otherwise) {
  const Bytes size = reader.bytes(key, {.otherwise = {otherwise}, .least = 128, .most = 4096});
  if ((size.count & (size.count - 1)) != 0) {
    reader.report(key, fmt::format("{}: {} is none of 128B, 256B, 512B, 1024B, 2048B, 4096B", key,
                                   fmt::format("{}B", size.count)));
  }
  return size;
}

void read_ordering(MappingReader& reader, PcieSettings& settings) {
  settings.relaxed_ordering = reader.truth("relaxed_ordering", {"true"});
  settings.ordered_writes =
      reader.rate("ordered_writes",
                  {.otherwise = {"18.75GB/s", true,
                                 "150 Gb/s of a 200 Gb/s NIC on AMD EPYC, UCX pull request 8062"},
                   .least = 1'000'000,
                   .most = 1'000'000'000'000'000});
}

// Sources at the head of sim/fabric_pcie.cpp.
void read_translation(MappingReader& reader, PcieSettings& settings) {
  settings.iommu = reader.truth("iommu", {"false"});
  settings.iotlb_miss =
      reader.time("iotlb_miss", {.otherwise = {"330ns", true, "Neugebauer et al., SIGCOMM 2018"},
                                 .least = 1'000,
                                 .most = 1'000'000'000});
  settings.iotlb_page = reader.bytes(
      "iotlb_page",
      {.otherwise = {"4KiB", true, "the smallest page of x86, or its larger one", "4KiB", "2MiB"},
       .least = 4096,
       .most = 1 << 30});
  settings.page_walks = static_cast<int>(reader.count(
      "page_walks", {.otherwise = {"2", true, "up to a fifth of 200 Gb/s lost to misses, KTH"},
                     .least = 1,
                     .most = 1024}));
}

}  // namespace

PcieSettings read_pcie_settings(MappingReader& reader) {
  PcieSettings settings;
  settings.max_payload = read_payload_size(reader, "max_payload", "256B");
  settings.max_read_request = read_payload_size(reader, "max_read_request", "4096B");
  // 14-bit tags are the most there are (PCIe 6.0).
  settings.tags =
      static_cast<int>(reader.count("tags", {.otherwise = {"256"}, .least = 1, .most = 16384}));
  const NumberSpec credits{
      .otherwise = {"128", true, kEstimate, "64", "128"}, .least = 1, .most = 65536};
  settings.posted_header_credits = static_cast<int>(reader.count("posted_header_credits", credits));
  settings.posted_data_credits = static_cast<int>(reader.count(
      "posted_data_credits",
      {.otherwise = {"1024", true, kEstimate, "512", "1024"}, .least = 1, .most = 1 << 20}));
  settings.credit_loop = reader.time(
      "credit_loop",
      {.otherwise = {"200ns", true, "", "150ns", "300ns"}, .least = 0, .most = 1'000'000'000});
  settings.dllp_overhead = reader.real(
      "dllp_overhead",
      {.otherwise = {"0.03", true, "", "0", "0.1"}, .least = 0, .most = 0.5, .below_most = true});
  read_ordering(reader, settings);
  settings.acs = reader.truth("acs", {"false"});
  read_translation(reader, settings);
  constexpr std::int64_t kDataCredit = 16;  // bytes (PCIe Base Specification, flow control)
  if (settings.posted_data_credits * kDataCredit < settings.max_payload.count) {
    reader.report(
        "posted_data_credits",
        fmt::format("posted_data_credits: {} credits of 16 bytes never hold a write of "
                    "max_payload, {}; at least {} do",
                    settings.posted_data_credits, fmt::format("{}B", settings.max_payload.count),
                    settings.max_payload.count / kDataCredit));
  }
  reader.finish();
  return settings;
}

}  // namespace gradhaul

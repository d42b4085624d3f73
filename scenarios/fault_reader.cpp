#include "scenarios/fault_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>
#include <utility>

#include "core/cluster_parts.h"
#include "core/forward_error_correction.h"
#include "scenarios/did_you_mean.h"
#include "scenarios/network_links.h"
#include "scenarios/nic_fault_reader.h"
#include "scenarios/node_fault_reader.h"

namespace gradhaul {
namespace {

using TreeKind = TreeNode::Kind;

constexpr std::string_view kAll = "all";

constexpr std::string_view kForms =
    "{link: node0.nic0, speed: 100Gb/s}, {link: node1.sw0, width: x8}, "
    "{link: node0.nic0, bit_error_rate: 1e-10}, {link: all, bit_error_rate: 1e-13}, "
    "{link: node0.nic0, down: {at: 5ms, for: 20ms}}, "
    "{nic: node0.nic0, pfc: off}, {gpu: node0.gpu3, slowdown: 1.5}, {node: node3, "
    "communication_thread: other_socket} or {node: node3, receives_late: 1ms}";

// All that can be the matter with one link.
struct LinkFault {
  TrainedDown trained;
  std::optional<BitErrors> errors;
  std::optional<LinkDown> down;
  bool trained_down() const { return trained.speed || trained.lanes || trained.generation; }
  bool lossy() const { return errors || down; }
};

std::string forms_of_links(const Cluster& cluster) {
  std::vector<std::string> forms{"node0.nic0", "node0.nic0.pcie", "node0.gpu0.pcie"};
  if (cluster.node.nvlink) forms.emplace_back("node0.gpu0.nvlink");
  for (const PcieBranch& branch : cluster.node.pcie) {
    if (branch.switch_name.empty()) continue;
    forms.push_back("node0." + branch.switch_name);
    break;
  }
  if (cluster.network.topology.spines > 0) forms.emplace_back("leaf0-spine0");
  if (cluster.network.topology.kind == TopologyKind::kRing) forms.emplace_back("leaf0-leaf1");
  return join_or(forms);
}

class FaultReader {
 public:
  FaultReader(const Cluster* cluster, Problems& problems)
      : cluster_(cluster), problems_(problems) {}

  void read_entry(const TreeNode& entry, FilledValue& filled) {
    if (entry.kind != TreeKind::kMapping) {
      if (entry.kind == TreeKind::kBroken) return;
      problems_.add(entry.location, fmt::format("a fault is a mapping, as {}", kForms));
      return;
    }
    MappingReader reader(&entry, entry.location, filled, problems_);
    if (reader.has("gpu")) {
      read_straggler(reader);
    } else if (reader.has("link")) {
      read_link(reader);
    } else if (reader.has("leaf") || reader.has("spine")) {
      read_switch(reader, reader.has("leaf") ? "leaf" : "spine");
    } else if (reader.has("node")) {
      read_node_fault(reader, cluster_, faults_);
    } else if (reader.has("nic")) {
      read_nic_fault(reader, cluster_, faults_);
    } else {
      problems_.add(entry.location,
                    fmt::format("a fault names its `link`, `nic`, `gpu` or `node`, as {}", kForms));
      return;
    }
    reader.finish();
  }

  Faults take() {
    if (!of_all_ || cluster_ == nullptr) return std::move(faults_);
    std::set<std::string> links = links_of_network(*cluster_);
    for (const BitErrors& own : faults_.errors) links.erase(own.link);
    for (const std::string& link : links) {
      faults_.errors.push_back({link, of_all_->rate, of_all_->pre_fec});
    }
    return std::move(faults_);
  }

 private:
  void read_straggler(MappingReader& reader) {
    const std::string name = reader.text("gpu", {});
    const double slowdown = reader.real("slowdown", {.least = 1, .most = 1000});
    if (!reader.good() || cluster_ == nullptr) return;
    const auto part = find_part(*cluster_, name);
    if (!part || part->kind != PartKind::kGpu) {
      reader.report("gpu", fmt::format("gpu: there is no GPU \"{}\"; they are called node0.gpu0 to "
                                       "node{}.gpu{}",
                                       name, cluster_->nodes - 1, cluster_->node.gpu_count - 1));
    } else if (once(reader, "gpu", name + " slowdown", name)) {
      faults_.gpus.push_back({part->node, part->gpu, slowdown});
    }
  }

  void read_link(MappingReader& reader) {
    const std::string name = reader.text("link", {});
    LinkFault fault{{name, {}, {}, {}}, {}, {}};
    read_training(reader, fault.trained);
    read_bit_errors(reader, name, fault);
    read_outage(reader, name, fault);
    if (!fault.trained_down() && !fault.lossy()) {
      reader.report("link",
                    fmt::format("what is the matter with {}? Its speed, as 100Gb/s, its "
                                "bit_error_rate, as 1e-10, down, as {{at: 5ms, for: 20ms}}, "
                                "or, of a PCIe link, its width, as x8, or generation",
                                name));
    }
    if (name == kAll) return read_all(reader, fault);
    if (!reader.good() || cluster_ == nullptr) return;
    const auto part = find_part(*cluster_, name);
    if (!part || part->kind == PartKind::kGpu) {
      reader.report("link",
                    fmt::format("link: there is no link \"{}\"; links are called {}, and {}", name,
                                forms_of_links(*cluster_), counted_nodes(*cluster_)));
      return;
    }
    check_link(reader, fault.trained, *part);
    check_losses(reader, fault, *part);
    if (!reader.good() || !once(reader, "link", name, name)) return;
    if (fault.trained_down()) faults_.links.push_back(fault.trained);
    if (fault.errors) faults_.errors.push_back(*fault.errors);
    if (fault.down) faults_.down.push_back(*fault.down);
  }

  // Of every link of the network that has no rate of its own.
  void read_all(MappingReader& reader, const LinkFault& fault) {
    if (!reader.good()) return;
    if (fault.trained_down() || fault.down || !fault.errors) {
      reader.report("link",
                    "link: all links of the network have a bit_error_rate, or a "
                    "pre_fec_bit_error_rate, in common, as 1e-13; name the one that trained "
                    "down or is down");
    } else if (once(reader, "link", std::string(kAll), "all")) {
      of_all_ = fault.errors;
    }
  }

  static void read_training(MappingReader& reader, TrainedDown& fault) {
    for (const char* key : {"speed", "width", "generation"}) reader.raw(key);
    if (reader.has("speed")) fault.speed = reader.rate("speed", {.least = 1'000'000});
    if (reader.has("width")) fault.lanes = read_width(reader);
    if (reader.has("generation")) {
      fault.generation = static_cast<int>(reader.count("generation", {.least = 1, .most = 6}));
    }
  }

  static void read_bit_errors(MappingReader& reader, const std::string& name, LinkFault& fault) {
    for (const char* key : {"bit_error_rate", "pre_fec_bit_error_rate"}) reader.raw(key);
    if (reader.has("bit_error_rate")) {
      const double rate = reader.real("bit_error_rate", {.most = 1, .below_most = true});
      fault.errors = BitErrors{name, rate, 0};
    }
    if (!reader.has("pre_fec_bit_error_rate")) return;
    const double before = reader.real("pre_fec_bit_error_rate", {.most = 1, .below_most = true});
    if (fault.errors) {
      reader.report("pre_fec_bit_error_rate",
                    "pre_fec_bit_error_rate: bit_error_rate says what is left of it; say one of "
                    "them");
    }
    fault.errors = BitErrors{name, rate_after_fec(before), before};
  }

  static void read_outage(MappingReader& reader, const std::string& name, LinkFault& fault) {
    if (!reader.has("down")) {
      reader.raw("down");
      return;
    }
    MappingReader down = reader.mapping("down");
    fault.down = LinkDown{name, down.time("at", {.otherwise = {"0s"}}), {}};
    down.raw("for");
    if (down.has("for")) fault.down->lasts = down.time("for", {.least = 1});
    down.finish();
  }

  // All links of a switch are down.
  void read_switch(MappingReader& reader, const std::string& kind) {
    const std::string name = reader.text(kind, {});
    LinkFault fault;
    read_outage(reader, name, fault);
    if (!fault.down) reader.report(kind, fmt::format("{} may be down, as {{at: 5ms}}", name));
    if (!reader.good() || cluster_ == nullptr) return;
    const Topology& topology = cluster_->network.topology;
    const int switches = kind == "leaf" ? topology.leaves : topology.spines;
    int number = 0;
    while (number < switches && name != kind + std::to_string(number)) ++number;
    if (number == switches || cluster_->nodes < 2) {
      reader.report(kind, fmt::format("{}: there is no \"{}\" among {} of them, which are called "
                                      "{}0 and so on",
                                      kind, name, switches, kind));
      return;
    }
    for (const std::string& link :
         kind == "leaf" ? links_of_leaf(*cluster_, number) : links_of_spine(*cluster_, number)) {
      if (!once(reader, kind, link, link)) return;
      faults_.down.push_back({link, fault.down->at, fault.down->lasts});
    }
  }

  void check_losses(MappingReader& reader, const LinkFault& fault, const ClusterPart& part) const {
    if (!fault.lossy() || part.kind == PartKind::kNetworkLink) return;
    const char* key = fault.down                  ? "down"
                      : fault.errors->pre_fec > 0 ? "pre_fec_bit_error_rate"
                                                  : "bit_error_rate";
    reader.report(key, fmt::format("{}: {} is no link of the network; on others nothing is lost in "
                                   "this version",
                                   key, fault.trained.link));
  }

  static int read_width(MappingReader& reader) {
    const std::string text = reader.text("width", {});
    for (const int lanes : {1, 2, 4, 8, 16}) {
      if (text == fmt::format("x{}", lanes)) return lanes;
    }
    reader.report("width",
                  fmt::format("width: \"{}\" is no width of a PCIe link; it is x1, x2, x4, "
                              "x8 or x16",
                              text));
    return 1;
  }

  static void check_link(MappingReader& reader, const TrainedDown& fault, const ClusterPart& part) {
    const bool pcie = part.kind == PartKind::kPcieLink;
    if (pcie && fault.speed) {
      reader.report("speed",
                    fmt::format("speed: {} is a PCIe link, which trains down in `width` or "
                                "`generation`",
                                fault.link));
    }
    if (!pcie && (fault.lanes || fault.generation)) {
      reader.report(fault.lanes ? "width" : "generation",
                    fmt::format("{} is no PCIe link; say its `speed`", fault.link));
    }
    if (!pcie && fault.speed && *fault.speed > part.rate) {
      reader.report("speed", fmt::format("speed: {} runs at {} where nothing is wrong; a fault "
                                         "leaves less",
                                         fault.link, format_rate(part.rate)));
    }
    if (pcie && fault.lanes && *fault.lanes > part.pcie.lanes) {
      reader.report("width", fmt::format("width: {} has x{} where nothing is wrong; a fault leaves "
                                         "less",
                                         fault.link, part.pcie.lanes));
    }
    if (pcie && fault.generation && *fault.generation > part.pcie.generation) {
      reader.report(
          "generation",
          fmt::format("generation: {} is of generation {} where nothing is wrong; a fault "
                      "leaves less",
                      fault.link, part.pcie.generation));
    }
  }

  bool once(MappingReader& reader, std::string_view key, const std::string& what,
            const std::string& name) {
    if (seen_.insert(what).second) return true;
    reader.report(key, fmt::format("{}: {} has a fault already; say all of it in one", key, name));
    return false;
  }

  const Cluster* cluster_;
  Problems& problems_;
  Faults faults_;
  std::optional<BitErrors> of_all_;
  std::set<std::string> seen_;
};

std::string note_of(const Cluster& cluster, const TrainedDown& fault) {
  const auto part = find_part(cluster, fault.link);
  GRADHAUL_ASSERT(part.has_value(), fault.link);
  if (part->kind != PartKind::kPcieLink) {
    return fmt::format("fault: {} runs at {} of {}", fault.link, format_rate(*fault.speed),
                       format_rate(part->rate));
  }
  const PcieLink now = trained_link(cluster.faults, fault.link, part->pcie);
  return fmt::format("fault: {} runs as gen{}x{} instead of gen{}x{}", fault.link, now.generation,
                     now.lanes, part->pcie.generation, part->pcie.lanes);
}

// Of so many links with the same rate.
std::string note_of(const BitErrors& fault, std::size_t links) {
  const std::string who =
      links == 1 ? fault.link + " has"
                 : fmt::format("{} and {} more links of the network have", fault.link, links - 1);
  const std::string rate = fmt::format("fault: {} a bit error rate of {:.3g}", who, fault.rate);
  if (fault.pre_fec == 0) return rate;
  return fmt::format("{} after, and {:.3g} before forward error correction, RS(544,514)", rate,
                     fault.pre_fec);
}

// More than a few that have the same rate are told of together.
std::vector<std::string> notes_of(const std::vector<BitErrors>& faults) {
  constexpr std::size_t kFew = 4;
  std::vector<std::string> notes;
  for (std::size_t i = 0; i < faults.size(); ++i) {
    const auto same = [&](const BitErrors& other) {
      return other.rate == faults[i].rate && other.pre_fec == faults[i].pre_fec;
    };
    const auto links = static_cast<std::size_t>(std::count_if(faults.begin(), faults.end(), same));
    if (links <= kFew) {
      notes.push_back(note_of(faults[i], 1));
    } else if (std::find_if(faults.begin(), faults.end(), same) ==
               faults.begin() + static_cast<std::ptrdiff_t>(i)) {
      notes.push_back(note_of(faults[i], links));
    }
  }
  return notes;
}

std::string note_of(const LinkDown& fault) {
  const std::string from =
      fmt::format("fault: {} is down from {} on", fault.link, format_duration(fault.at));
  return fault.lasts ? fmt::format("{}, for {}", from, format_duration(*fault.lasts)) : from;
}

}  // namespace

Faults read_faults(MappingReader& cluster_reader, const Cluster* cluster) {
  const TreeNode* list = cluster_reader.raw("faults");
  FilledValue& filled = cluster_reader.record("faults", FilledValue::Kind::kEntries, "", list);
  const bool empty = list == nullptr || list->kind == TreeKind::kNull ||
                     list->kind == TreeKind::kBroken ||
                     (list->kind == TreeKind::kMapping && list->children.empty());
  if (empty) return {};
  if (list->kind != TreeKind::kSequence) {
    cluster_reader.report("faults", fmt::format("\"faults\" is a list, of {}", kForms));
    return {};
  }
  FaultReader reader(cluster, cluster_reader.problems());
  for (const TreeNode& entry : list->children) {
    FilledValue& fault = filled.children.emplace_back();
    fault.origin = {false, entry.location, entry.estimate, entry.source};
    reader.read_entry(entry, fault);
  }
  return reader.take();
}

std::vector<std::string> fault_notes(const Cluster& cluster) {
  std::vector<std::string> notes;
  for (const TrainedDown& fault : cluster.faults.links) notes.push_back(note_of(cluster, fault));
  for (std::string& note : notes_of(cluster.faults.errors)) notes.push_back(std::move(note));
  for (const LinkDown& fault : cluster.faults.down) notes.push_back(note_of(fault));
  for (const Straggler& fault : cluster.faults.gpus) {
    notes.push_back(fmt::format("fault: kernels of node{}.gpu{} take {:.4g} times as long",
                                fault.node, fault.gpu, fault.slowdown));
  }
  for (std::string& note : node_fault_notes(cluster.faults)) notes.push_back(std::move(note));
  for (std::string& note : nic_fault_notes(cluster.faults)) notes.push_back(std::move(note));
  return notes;
}

}  // namespace gradhaul

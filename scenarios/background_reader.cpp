#include "scenarios/background_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/cluster_parts.h"

namespace gradhaul {
namespace {

using TreeKind = TreeNode::Kind;

constexpr std::int64_t kLargestMessage = (std::int64_t{1} << 31) - 1;

class BackgroundReader {
 public:
  BackgroundReader(const Cluster& cluster, Problems& problems)
      : cluster_(cluster), problems_(problems) {}

  BackgroundTraffic read(const TreeNode& entry, FilledValue& shown) {
    MappingReader reader(&entry, entry.location, shown, problems_, "background traffic");
    BackgroundTraffic traffic;
    traffic.pattern = static_cast<TrafficPattern>(reader.choice(
        "pattern", {.available = {"permutation", "uniform", "incast", "all_to_all", "pairs"}}));
    const std::string otherwise =
        reader.has_scalar("pattern") ? reader.node()->find("pattern")->text : "background";
    traffic.name = reader.text("name", {otherwise});
    if (!names_.insert(traffic.name).second) {
      reader.report("name", fmt::format("two background traffics are called {}; give one of them "
                                        "another name",
                                        traffic.name));
    }
    traffic.load = reader.real("load", {.least = 0, .most = 1, .above_least = true});
    traffic.message =
        reader.bytes("message", {.otherwise = {"1MB"}, .least = 1, .most = kLargestMessage});
    read_nodes(reader, traffic);
    read_pairs(reader, traffic);
    reader.finish();
    return traffic;
  }

 private:
  void read_nodes(MappingReader& reader, BackgroundTraffic& traffic) {
    const TreeNode* list = reader.raw("nodes");
    FilledValue& shown = reader.record("nodes", FilledValue::Kind::kList, "", list);
    if (list == nullptr || list->kind == TreeKind::kNull || list->kind == TreeKind::kBroken) {
      return;
    }
    if (list->kind != TreeKind::kSequence) {
      reader.report("nodes", "\"nodes\" is a list of those taking part, as [0, 1, 4]; empty: all");
      return;
    }
    std::set<int> seen;
    for (const TreeNode& item : list->children) {
      const auto node =
          item.kind == TreeKind::kScalar ? parse_count(item.text) : Parsed<std::int64_t>{{}, ""};
      if (!node.value || *node.value < 0 || *node.value >= cluster_.nodes) {
        problems_.add(item.location,
                      fmt::format("nodes: \"{}\" is no node; they are called 0 to {}", item.text,
                                  cluster_.nodes - 1));
      } else if (!seen.insert(static_cast<int>(*node.value)).second) {
        problems_.add(item.location, fmt::format("nodes: {} is in the list twice", item.text));
      }
      FilledValue& value = shown.children.emplace_back();
      value.kind = FilledValue::Kind::kInteger;
      value.text = item.text;
    }
    traffic.nodes.assign(seen.begin(), seen.end());
    if (traffic.pattern == TrafficPattern::kPairs && !seen.empty()) {
      reader.report("nodes", "nodes: pairs are listed by NIC; leave the nodes out");
    } else if (seen.size() == 1) {
      reader.report("nodes", "nodes: traffic goes between nodes, and this is one");
    }
  }

  void read_pairs(MappingReader& reader, BackgroundTraffic& traffic) {
    const TreeNode* list = reader.raw("pairs");
    FilledValue& shown = reader.record("pairs", FilledValue::Kind::kList, "", list);
    const bool given =
        list != nullptr && list->kind == TreeKind::kSequence && !list->children.empty();
    if (traffic.pattern != TrafficPattern::kPairs) {
      if (given) reader.report("pairs", "pairs: only pattern pairs lists them");
      return;
    }
    if (!given) {
      reader.report(given || list == nullptr ? "pattern" : "pairs",
                    "pattern pairs needs a list of them, as pairs: [[node0.nic0, node1.nic0]]");
      return;
    }
    for (const TreeNode& item : list->children) read_pair(item, shown, traffic);
  }

  void read_pair(const TreeNode& item, FilledValue& shown, BackgroundTraffic& traffic) {
    if (item.kind != TreeKind::kSequence || item.children.size() != 2) {
      problems_.add(item.location, "pairs: a pair is two NICs, as [node0.nic0, node1.nic0]");
      return;
    }
    FilledValue& pair = shown.children.emplace_back();
    pair.kind = FilledValue::Kind::kList;
    int nics[2] = {0, 0};
    for (int end = 0; end < 2; ++end) {
      const TreeNode& name = item.children[static_cast<std::size_t>(end)];
      const auto nic = nic_of(name);
      if (!nic) return;
      nics[end] = *nic;
      pair.children.emplace_back().text = name.text;
    }
    if (nics[0] / cluster_.node.nic_count == nics[1] / cluster_.node.nic_count) {
      problems_.add(item.location, "pairs: traffic goes between nodes, and these are in one");
      return;
    }
    traffic.pairs.push_back({nics[0], nics[1]});
  }

  std::optional<int> nic_of(const TreeNode& name) {
    std::string_view text = name.text;
    const auto node = take_number(text, "node");
    const auto nic = node ? take_number(text, ".nic") : std::nullopt;
    const Node& each = cluster_.node;
    if (nic && text.empty() && *node < cluster_.nodes && *nic < each.nic_count) {
      return *node * each.nic_count + *nic;
    }
    problems_.add(name.location,
                  fmt::format("pairs: \"{}\" is no NIC; they are called node0.nic0 to node{}.nic{}",
                              name.text, cluster_.nodes - 1, each.nic_count - 1));
    return std::nullopt;
  }

  const Cluster& cluster_;
  Problems& problems_;
  std::set<std::string> names_;
};

}  // namespace

std::vector<BackgroundTraffic> read_background(MappingReader& reader, const Cluster& cluster) {
  const TreeNode* list = reader.raw("background");
  FilledValue& filled = reader.record("background", FilledValue::Kind::kEntries, "", list);
  std::vector<BackgroundTraffic> background;
  if (list == nullptr || list->kind == TreeKind::kNull || list->kind == TreeKind::kBroken) {
    return background;
  }
  if (list->kind != TreeKind::kSequence) {
    reader.report("background", "\"background\" is a list, as - {pattern: permutation, load: 0.3}");
    return background;
  }
  if (!list->children.empty() && cluster.nodes == 1) {
    reader.report("background", "background: traffic goes between nodes, and there is one");
    return background;
  }
  BackgroundReader entries(cluster, reader.problems());
  for (const TreeNode& entry : list->children) {
    FilledValue& shown = filled.children.emplace_back();
    shown.origin.from_default = false;
    shown.origin.location = entry.location;
    background.push_back(entries.read(entry, shown));
  }
  return background;
}

}  // namespace gradhaul

#include "core/topology_size.h"

#include <algorithm>
#include <cmath>

#include "core/assert.h"
#include "core/leaf_ring.h"

namespace gradhaul {

namespace {

constexpr int kNeighbours = 2;  // of a leaf in a ring

int divided_up(int whole, int part) { return (whole + part - 1) / part; }

std::string counted(int count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

// What one size_topology() works on. Groups of leaves are alike and joined by the spines alone:
// one group for leaf_spine, one for each rail for rail_optimized.
class Sizing {
 public:
  Sizing(const Network& network, int nodes, int nics)
      : network_(network), nodes_(nodes), nics_(nics), result_{network.topology, {}} {}

  SizedTopology run() {
    if (topology().switch_ports < 0 || topology().leaves < 0 || topology().spines < 0 ||
        topology().uplinks_per_leaf < 0) {
      error("switch_ports, leaves, spines and uplinks_per_leaf cannot be negative");
      return result_;
    }
    if (nodes_ == 0 || nics_ == 0) return result_;
    switch (topology().kind) {
      case TopologyKind::kBackToBack:
        back_to_back();
        break;
      case TopologyKind::kSingleSwitch:
        single_switch();
        break;
      case TopologyKind::kLeafSpine:
        tiers("leaf_spine", 1, nics_);
        break;
      case TopologyKind::kRailOptimized:
        tiers("rail_optimized", nics_, 1);
        break;
      case TopologyKind::kRing:
        ring();
        break;
    }
    return result_;
  }

 private:
  Topology& topology() { return result_.topology; }
  void error(const std::string& text) { result_.errors.push_back(text); }

  void back_to_back() {
    if (nodes_ != 2) error("back_to_back joins exactly 2 nodes, not " + std::to_string(nodes_));
    forbid_given("back_to_back", "leaves", topology().leaves);
    forbid_upper_tier("back_to_back");
  }

  void single_switch() {
    if (topology().leaves > 1) {
      error("single_switch has 1 leaf, not " + std::to_string(topology().leaves));
    }
    forbid_upper_tier("single_switch");
    const int needed = nodes_ * nics_;
    if (topology().switch_ports != 0 && topology().switch_ports < needed) {
      error("switch_ports " + std::to_string(topology().switch_ports) + " are too few for " +
            counted(nodes_, "node") + " of " + counted(nics_, "NIC") +
            " at a single switch: " + std::to_string(needed) + " needed");
    }
    topology().leaves = 1;
  }

  void forbid_given(const std::string& kind, const std::string& key, int value) {
    if (value != 0) error(kind + " has no " + key + ", but " + std::to_string(value) + " given");
  }

  void forbid_upper_tier(const std::string& kind) {
    forbid_given(kind, "spines", topology().spines);
    forbid_given(kind, "uplinks_per_leaf", topology().uplinks_per_leaf);
  }

  // `groups` of leaves, each joining all nodes by `ports_per_node` ports of each.
  void tiers(const std::string& kind, int groups, int ports_per_node) {
    if (topology().switch_ports == 0) return error(kind + " needs switch_ports");
    if (!(network_.oversubscription > 0)) return error("oversubscription must be above 0");
    if (topology().leaves == 0) topology().leaves = groups * fewest_leaves(ports_per_node);
    if (topology().leaves % groups != 0) {
      return error(kind + " has the same number of leaves for each of " + counted(groups, "rail") +
                   "; leaves " + std::to_string(topology().leaves) + " is no multiple");
    }
    const int downlinks = divided_up(nodes_, topology().leaves / groups) * ports_per_node;
    check_leaf(downlinks);
    topology().uplinks_per_leaf = uplinks_wanted(downlinks);
    if (topology().leaves > 1 && topology().uplinks_per_leaf == 0) return check_leaves_apart();
    if (topology().uplinks_per_leaf == 0) return;
    if (topology().spines == 0) topology().spines = fewest_spines();
    check_spines();
  }

  void ring() {
    constexpr int kFewest = 3;
    forbid_given("ring", "spines", topology().spines);
    if (topology().switch_ports == 0) return error("ring needs switch_ports");
    if (!(network_.oversubscription > 0)) return error("oversubscription must be above 0");
    if (topology().leaves == 0) topology().leaves = std::max(kFewest, fewest_leaves(nics_));
    if (topology().leaves < kFewest) {
      return error("ring has at least 3 leaves, not " + std::to_string(topology().leaves));
    }
    const int downlinks = divided_up(nodes_, topology().leaves) * nics_;
    check_leaf(downlinks);
    topology().uplinks_per_leaf = uplinks_wanted(downlinks);
    if (topology().uplinks_per_leaf == 0) return check_leaves_apart();
    if (topology().uplinks_per_leaf % kNeighbours != 0) {
      error("uplinks_per_leaf " + std::to_string(topology().uplinks_per_leaf) +
            " do not spread evenly over the 2 neighbours of a leaf");
    }
  }

  // Of one group: as few as hold all nodes, or as leave most room where nothing would do.
  int fewest_leaves(int ports_per_node) const {
    int nodes_at_leaf = std::min(nodes_, result_.topology.switch_ports / ports_per_node);
    while (nodes_at_leaf > 1 && !leaf_holds(nodes_at_leaf * ports_per_node)) --nodes_at_leaf;
    return divided_up(nodes_, std::max(nodes_at_leaf, 1));
  }

  // By the oversubscription alone.
  int uplinks_asked(int downlinks) const {
    if (std::isinf(network_.oversubscription)) return 0;
    // A hair less, so that 30 / 1.2 is 25 whatever the last bit of the quotient; and at most what
    // no switch has, lest absurd ratios overflow.
    const double asked = std::ceil(downlinks / network_.oversubscription - 1e-9);
    return static_cast<int>(std::clamp(asked, 1.0, 1e6));
  }

  int uplinks_wanted(int downlinks) const {
    const Topology& topology = result_.topology;
    if (topology.uplinks_per_leaf > 0) return topology.uplinks_per_leaf;
    if (topology.leaves == 1 && topology.spines == 0) return 0;
    const int spread_over =
        topology.kind == TopologyKind::kRing ? kNeighbours : std::max(topology.spines, 1);
    return divided_up(uplinks_asked(downlinks), spread_over) * spread_over;
  }

  bool leaf_holds(int downlinks) const {
    const int uplinks = uplinks_wanted(downlinks);
    return downlinks + uplinks <= result_.topology.switch_ports &&
           uplinks_asked(downlinks) <= uplinks;
  }

  void check_leaf(int downlinks) {
    const int uplinks = uplinks_wanted(downlinks);
    if (downlinks + uplinks > topology().switch_ports) {
      error("switch_ports " + std::to_string(topology().switch_ports) + " are too few for " +
            counted(downlinks, "downlink") + " and " + counted(uplinks, "uplink") + " of a leaf");
    }
    if (uplinks > 0 && uplinks < uplinks_asked(downlinks)) {
      error("uplinks_per_leaf " + std::to_string(uplinks) + " are fewer than the " +
            std::to_string(uplinks_asked(downlinks)) + " that " + counted(downlinks, "downlink") +
            " of a leaf need for this oversubscription");
    }
  }

  // Without uplinks: rails of one leaf each need none, all else falls apart.
  void check_leaves_apart() {
    const bool rails_apart =
        topology().kind == TopologyKind::kRailOptimized && topology().leaves == nics_;
    if (!rails_apart) {
      error("without uplinks the " + std::to_string(topology().leaves) +
            " leaves do not reach each other");
    }
    if (topology().spines > 0) {
      error("spines " + std::to_string(topology().spines) +
            " are given, but leaves have no uplinks");
    }
  }

  bool spines_fit(int spines) const {
    const Topology& topology = result_.topology;
    return topology.uplinks_per_leaf % spines == 0 &&
           topology.leaves * (topology.uplinks_per_leaf / spines) <= topology.switch_ports;
  }

  int fewest_spines() const {
    for (int spines = 1; spines < result_.topology.uplinks_per_leaf; ++spines) {
      if (spines_fit(spines)) return spines;
    }
    return result_.topology.uplinks_per_leaf;
  }

  void check_spines() {
    const int spines = topology().spines;
    if (topology().uplinks_per_leaf % spines != 0) {
      error("uplinks_per_leaf " + std::to_string(topology().uplinks_per_leaf) +
            " do not spread evenly over " + counted(spines, "spine"));
    } else if (!spines_fit(spines)) {
      error("switch_ports " + std::to_string(topology().switch_ports) +
            " of a spine are too few for " +
            counted(topology().uplinks_per_leaf / spines, "cable") + " to each of " +
            std::to_string(topology().leaves) + " leaves");
    }
  }

  const Network& network_;
  int nodes_;
  int nics_;
  SizedTopology result_;
};

// Which of `parts` nearly equal runs of 0 .. whole - 1, longer ones first, holds `index`, and
// where.
struct Place {
  int part = 0;
  int within = 0;
};

Place place_in_runs(int whole, int parts, int index) {
  const int shorter = whole / parts;
  const int longer_ones = whole % parts;
  const int in_longer = longer_ones * (shorter + 1);
  if (index < in_longer) return {index / (shorter + 1), index % (shorter + 1)};
  const int after = index - in_longer;
  return {longer_ones + after / shorter, after % shorter};
}

// Of a NIC among all of its leaf, where a leaf has all NICs of its nodes.
int place_at_leaf(const Topology& topology, int nodes, int nics_per_node, int node, int nic) {
  return place_in_runs(nodes, topology.leaves, node).within * nics_per_node + nic;
}

// The uplink by which any other leaf sends to this NIC.
int uplink_of(const Topology& topology, int nodes, int nics_per_node, int node, int nic) {
  GRADHAUL_ASSERT(topology.spines > 0 && topology.uplinks_per_leaf > 0, "leaves have uplinks");
  if (topology.kind == TopologyKind::kRailOptimized) {
    const int leaves_of_rail = topology.leaves / nics_per_node;
    return place_in_runs(nodes, leaves_of_rail, node).within % topology.uplinks_per_leaf;
  }
  return place_at_leaf(topology, nodes, nics_per_node, node, nic) % topology.uplinks_per_leaf;
}

}  // namespace

SizedTopology size_topology(const Network& network, int nodes, int nics_per_node) {
  return Sizing(network, nodes, nics_per_node).run();
}

int leaf_of(const Topology& topology, int nodes, int nics_per_node, int node, int nic) {
  switch (topology.kind) {
    case TopologyKind::kBackToBack:
      return -1;
    case TopologyKind::kSingleSwitch:
      return 0;
    case TopologyKind::kLeafSpine:
    case TopologyKind::kRing:
      return place_in_runs(nodes, topology.leaves, node).part;
    case TopologyKind::kRailOptimized: {
      const int leaves_of_rail = topology.leaves / nics_per_node;
      return nic * leaves_of_rail + place_in_runs(nodes, leaves_of_rail, node).part;
    }
  }
  return -1;
}

int spine_of(const Topology& topology, int nodes, int nics_per_node, int node, int nic) {
  return uplink_of(topology, nodes, nics_per_node, node, nic) % topology.spines;
}

int cable_of(const Topology& topology, int nodes, int nics_per_node, int node, int nic) {
  return uplink_of(topology, nodes, nics_per_node, node, nic) / topology.spines;
}

int cables_per_spine(const Topology& topology) {
  return topology.spines > 0 ? topology.uplinks_per_leaf / topology.spines : 0;
}

int cables_per_neighbour(const Topology& topology) {
  return topology.uplinks_per_leaf / kNeighbours;
}

int ring_cable_of(const Topology& topology, int nodes, int nics_per_node, int node, int nic) {
  return place_at_leaf(topology, nodes, nics_per_node, node, nic) % cables_per_neighbour(topology);
}

int cables_between(const Topology& topology, int from_leaf, int to_leaf) {
  if (from_leaf == to_leaf) return 0;
  if (topology.kind != TopologyKind::kRing) return 2;  // up to a spine and down
  const auto way = leaves_on_way(topology.way, topology.leaves, from_leaf, to_leaf);
  return static_cast<int>(way.size()) - 1;
}

bool rails_meet(const Topology& topology) {
  if (topology.kind == TopologyKind::kBackToBack) return false;
  return topology.kind != TopologyKind::kRailOptimized || topology.leaves == 1 ||
         topology.spines > 0;
}

}  // namespace gradhaul

#include "scenarios/topology_drawing.h"

#include <fmt/format.h>

#include <iterator>
#include <map>

#include "core/topology_size.h"
#include "scenarios/device_reader.h"
#include "scenarios/quantity.h"

namespace gradhaul {
namespace {

// More cannot be read; one node shows how they are all built.
constexpr int kMostWholeNodes = 4;

class Drawing {
 public:
  explicit Drawing(const Cluster& cluster)
      : cluster_(cluster), whole_nodes_(cluster.nodes <= kMostWholeNodes ? cluster.nodes : 1) {}

  std::string text() {
    out_ = R"(graph gradhaul {
  rankdir=BT;
  node [shape=box, fontname="sans-serif"];
)";
    for (int n = 0; n < cluster_.nodes; ++n) {
      if (n < whole_nodes_) {
        draw_node(n);
      } else {
        line(R"(  node{0} [label="node{0}\n{1}"];)", n, cluster_.node.name);
      }
    }
    if (cluster_.nodes > 1) draw_network();
    return out_ + "}\n";
  }

 private:
  template <typename... Values>
  void line(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Values>(values)...);
    out_ += '\n';
  }

  void draw_node(int n) {
    const Node& node = cluster_.node;
    line("  subgraph cluster_node{} {{", n);
    line("    label=\"node{} ({})\";", n, node.name);
    for (int g = 0; g < node.gpu_count; ++g) {
      line(R"(    "node{0}.gpu{1}" [label="gpu{1}", style=filled, fillcolor=palegreen];)", n, g);
    }
    for (int i = 0; i < node.nic_count; ++i) {
      line(R"(    "node{0}.nic{1}" [label="nic{1}", style=filled, fillcolor=lightblue];)", n, i);
    }
    if (node.pcie.empty()) {
      for (int g = 0; g < node.gpu_count && node.nic_count > 0; ++g) {
        line(R"(    "node{0}.gpu{1}" -- "node{0}.nic{2}";)", n, g, g % node.nic_count);
      }
    } else {
      draw_pcie(n);
    }
    if (node.nvlink) draw_nvlink(n);
    line("  }}");
  }

  void draw_pcie(int n) {
    const Node& node = cluster_.node;
    for (int s = 0; s < node.sockets; ++s) {
      line(R"(    "node{0}.socket{1}" [label="socket{1}", shape=octagon];)", n, s);
    }
    for (int s = 1; s < node.sockets; ++s) {
      line(R"(    "node{0}.socket{1}" -- "node{0}.socket{2}" [style=bold, constraint=false];)", n,
           s - 1, s);
    }
    for (const PcieBranch& branch : node.pcie) {
      const std::string link = branch.link ? format_pcie_link(*branch.link) : "";
      const std::string& above = branch.switch_name.empty() ? branch.parent : branch.switch_name;
      if (!branch.switch_name.empty()) {
        line(R"(    "node{0}.{1}" [label="{1}", shape=diamond];)", n, branch.switch_name);
        line(R"(    "node{0}.{1}" -- "node{0}.{2}" [label="{3}"];)", n, branch.switch_name,
             branch.parent, link);
      }
      for (const std::string& device : branch.devices) {
        line(
            R"(    "node{0}.{1}" -- "node{0}.{2}"{3};)", n, device, above,
            branch.switch_name.empty() && branch.link ? fmt::format(R"( [label="{}"])", link) : "");
      }
    }
  }

  void draw_nvlink(int n) {
    line(R"(    "node{}.nvswitch" [label="NVSwitch", shape=ellipse];)", n);
    for (int g = 0; g < cluster_.node.gpu_count; ++g) {
      line(R"(    "node{0}.gpu{1}" -- "node{0}.nvswitch" [color=darkgreen];)", n, g);
    }
  }

  // The end of a cable at a node: the NIC where the node is drawn whole.
  std::string node_end(int n, int nic) const {
    return n < whole_nodes_ ? fmt::format(R"("node{}.nic{}")", n, nic) : fmt::format("node{}", n);
  }

  void draw_network() {
    const Topology& topology = cluster_.network.topology;
    const int nics = cluster_.node.nic_count;
    const std::string rate = format_rate(cluster_.network.link);
    if (topology.kind == TopologyKind::kBackToBack) {
      for (int i = 0; i < nics; ++i) {
        line(R"(  {} -- {} [label="{}"];)", node_end(0, i), node_end(1, i), rate);
      }
      return;
    }
    std::map<std::pair<std::string, int>, int> cables;
    for (int n = 0; n < cluster_.nodes; ++n) {
      for (int i = 0; i < nics; ++i) {
        ++cables[{node_end(n, i), leaf_of(topology, cluster_.nodes, nics, n, i)}];
      }
    }
    for (int l = 0; l < topology.leaves; ++l) {
      line("  leaf{} [style=filled, fillcolor=lightyellow];", l);
    }
    for (const auto& [ends, count] : cables) {
      line(R"(  {} -- leaf{} [label="{}{}"];)", ends.first, ends.second,
           count > 1 ? fmt::format("{} x ", count) : "", rate);
    }
    draw_spines(rate);
    if (topology.kind != TopologyKind::kRing) return;
    for (int l = 0; l < topology.leaves; ++l) {
      line(R"(  leaf{} -- leaf{} [label="{} x {}"];)", l, (l + 1) % topology.leaves,
           cables_per_neighbour(topology), rate);
    }
  }

  void draw_spines(const std::string& rate) {
    const Topology& topology = cluster_.network.topology;
    for (int s = 0; s < topology.spines; ++s) {
      line("  spine{} [style=filled, fillcolor=orange];", s);
      for (int l = 0; l < topology.leaves; ++l) {
        line(R"(  leaf{} -- spine{} [label="{} x {}"];)", l, s, cables_per_spine(topology), rate);
      }
    }
  }

  const Cluster& cluster_;
  const int whole_nodes_;
  std::string out_;
};

}  // namespace

std::string topology_dot(const Cluster& cluster) { return Drawing(cluster).text(); }

}  // namespace gradhaul

#include "scenarios/nccl_graph_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <pugixml.hpp>
#include <string_view>
#include <utility>

#include "scenarios/xml_text.h"

namespace gradhaul {
namespace {

// Of graphs and their patterns (NCCL_TOPO_PATTERN_RING).
constexpr int kRingGraph = 0;
constexpr int kRingPattern = 4;
constexpr std::size_t kMostChannels = 64;  // MAXCHANNELS
constexpr std::size_t kMostGpus = 576;     // NCCL_TOPO_MAX_NODES
constexpr std::uint64_t kSystemShift = 56;

// "0x100000000000002" is device 2 of system 1; old dumps have decimal numbers.
int device_of(const pugi::xml_node& node) {
  const std::string_view text = node.attribute("dev").as_string();
  if (text.empty()) return -1;
  char* end = nullptr;
  const std::uint64_t number = std::strtoull(text.data(), &end, text.starts_with("0x") ? 16 : 10);
  if (*end != '\0') return -1;
  const std::uint64_t device = number & ((std::uint64_t{1} << kSystemShift) - 1);
  return device < 100'000 ? static_cast<int>(device) : -1;
}

class GraphReader {
 public:
  GraphReader(const std::string& text, const std::string& file, Problems& problems)
      : text_(text), file_(file), problems_(problems) {}

  std::optional<NcclRings> read() {
    pugi::xml_document document;
    if (!load_xml(text_, file_, problems_, document)) return std::nullopt;
    const pugi::xml_node graphs = document.child("graphs");
    if (!graphs) {
      fail(0, "no graphs of NCCL, as it writes them to NCCL_GRAPH_DUMP_FILE: it holds no <graphs>");
      return std::nullopt;
    }
    const pugi::xml_node ring = ring_in(graphs);
    if (!ring) {
      fail(graphs, "no ring: it holds no <graph id=\"0\" pattern=\"4\"> with a <channel>");
      return std::nullopt;
    }
    rings_.crosses_nics = ring.attribute("crossnic").as_int() == 2;
    rings_.intra = std::max(0.0, ring.attribute("speedintra").as_double());
    rings_.inter = std::max(0.0, ring.attribute("speedinter").as_double());
    for (const pugi::xml_node& channel : ring.children("channel")) {
      if (!read_channel(channel)) return std::nullopt;
    }
    if (const int told = ring.attribute("nchannels").as_int(-1);
        told >= 0 && told != static_cast<int>(rings_.channels.size())) {
      fail(ring, fmt::format("nchannels is {}, and {} are here", told, rings_.channels.size()));
    }
    count_from_node();
    if (!problems_.empty()) return std::nullopt;
    return std::move(rings_);
  }

 private:
  void fail(std::ptrdiff_t offset, const std::string& what) {
    problems_.add({file_, line_of(text_, offset), 1}, what);
  }
  void fail(const pugi::xml_node& node, const std::string& what) {
    fail(node.offset_debug(), what);
  }

  static pugi::xml_node ring_in(const pugi::xml_node& graphs) {
    for (const pugi::xml_node& graph : graphs.children("graph")) {
      const bool ring = graph.attribute("id").as_int(-1) == kRingGraph &&
                        graph.attribute("pattern").as_int(kRingPattern) == kRingPattern;
      if (ring && graph.child("channel")) return graph;
    }
    return {};
  }

  bool read_channel(const pugi::xml_node& channel) {
    if (rings_.channels.size() == kMostChannels) {
      fail(channel, fmt::format("more than {} channels", kMostChannels));
      return false;
    }
    NcclRing ring;
    for (const pugi::xml_node& stop : channel.children()) {
      const std::string_view kind = stop.name();
      if (kind != "gpu" && kind != "net") continue;
      // A GPU by its rank, where that is told.
      const int rank = kind == "gpu" ? stop.attribute("rank").as_int(-1) : -1;
      const int number = rank >= 0 ? rank : device_of(stop);
      if (number < 0) {
        fail(stop, fmt::format("a <{}> of a channel has a number: dev=\"0x0\"", kind));
        return false;
      }
      if (kind == "gpu") {
        if (ring.gpus.size() == kMostGpus) {
          fail(stop, fmt::format("more than {} GPUs in a channel", kMostGpus));
          return false;
        }
        ring.gpus.push_back(number);
      } else {
        (ring.gpus.empty() ? ring.entering_net : ring.leaving_net) = number;
      }
    }
    if ((ring.entering_net < 0) != (ring.leaving_net < 0)) {
      fail(channel, "a ring that enters the node by a <net> leaves it by one, and this does not");
      return false;
    }
    rings_.channels.push_back(std::move(ring));
    places_.push_back(channel);
    return true;
  }

  // Ranks of any node become GPUs from 0; all rings visit the same ones, once each.
  void count_from_node() {
    std::vector<int> all = sorted(rings_.channels.front().gpus);
    if (all.empty()) {
      fail(places_.front(), "a ring without a GPU");
      return;
    }
    const int first = all.front();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i] == first + static_cast<int>(i)) continue;
      fail(places_.front(),
           fmt::format("the GPUs of a node are ranks that follow each other, each once: {} to {} "
                       "are not",
                       first, all.back()));
      return;
    }
    const bool nets = rings_.channels.front().entering_net >= 0;
    for (std::size_t channel = 0; channel < rings_.channels.size(); ++channel) {
      NcclRing& ring = rings_.channels[channel];
      if (sorted(ring.gpus) != all || (ring.entering_net >= 0) != nets) {
        fail(places_[channel],
             "it visits other GPUs than the first channel, or one of the two "
             "leaves the node");
        return;
      }
      for (int& gpu : ring.gpus) gpu -= first;
    }
  }

  static std::vector<int> sorted(std::vector<int> gpus) {
    std::sort(gpus.begin(), gpus.end());
    return gpus;
  }

  const std::string& text_;
  const std::string& file_;
  Problems& problems_;
  NcclRings rings_;
  std::vector<pugi::xml_node> places_;  // of channels
};

// By which NICs channels enter and leave, where it is not by the one that the model takes.
std::string nets_text(const NcclRings& rings) {
  std::string text;
  for (std::size_t channel = 0; channel < rings.channels.size(); ++channel) {
    const NcclRing& ring = rings.channels[channel];
    if (ring.entering_net < 0) return "";
    text += fmt::format("{}{}", text.empty() ? "" : ", ", ring.entering_net);
    if (ring.leaving_net != ring.entering_net) text += fmt::format("-{}", ring.leaving_net);
  }
  return "# NCCL's nets by channel: " + text +
         ". Here a ring leaves and enters by NICs nearest to its GPUs.\n";
}

}  // namespace

std::optional<NcclRings> read_nccl_graph(const std::string& text, const std::string& file,
                                         Problems& problems) {
  return GraphReader(text, file, problems).read();
}

std::string nccl_rings_text(const NcclRings& rings, int nodes, const std::string& place) {
  std::string source = place;
  std::replace_if(
      source.begin(), source.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  const std::size_t count = rings.channels.size();
  std::string text =
      fmt::format("# Written by gradhaul import, of {}: the rings of NCCL, ", source);
  text += fmt::format("for {} node{} of {} GPUs.\n", nodes, nodes == 1 ? "" : "s",
                      rings.channels.front().gpus.size());
  if (rings.intra > 0) {
    text += fmt::format("# NCCL counts on {:g} GB/s a channel within the node", rings.intra);
    text += nodes > 1 ? fmt::format(", {:g} between nodes.\n", rings.inter) : ".\n";
  }
  text += nets_text(rings);
  text += fmt::format("communication:\n  algorithm: ring\n  channels: {}\n  ring_order:\n", count);
  for (std::size_t channel = 0; channel < count; ++channel) {
    std::vector<int> order;
    for (int node = 0; node < nodes; ++node) {
      // "Alternate rings to avoid crossing rails": of odd nodes, pairs of channels are exchanged.
      const bool other = rings.crosses_nics && count % 2 == 0 && node % 2 == 1;
      const NcclRing& ring = rings.channels[other ? channel ^ 1U : channel];
      for (const int gpu : ring.gpus) {
        order.push_back(node * static_cast<int>(ring.gpus.size()) + gpu);
      }
    }
    text += fmt::format("    - [{}]\n", fmt::join(order, ", "));
  }
  return text;
}

}  // namespace gradhaul

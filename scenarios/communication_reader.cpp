#include "scenarios/communication_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "core/collective_algorithms.h"
#include "core/nccl_profile.h"
#include "core/protocol.h"
#include "core/workload_names.h"
#include "scenarios/communication_thread_reader.h"
#include "scenarios/did_you_mean.h"
#include "scenarios/listed_algorithm_reader.h"
#include "scenarios/queue_pair_reader.h"
#include "scenarios/transport_reader.h"

namespace gradhaul {
namespace {

using TreeKind = TreeNode::Kind;

constexpr std::int64_t kMostQueuePairs = 128;                  // as NCCL_IB_QPS_PER_CONNECTION
constexpr std::int64_t kMostSlots = 4096;                      // writes in flight of a connection
constexpr std::int64_t kLargestWrite = std::int64_t{1} << 31;  // IBTA vol. 1, 9.2

void read_profile(MappingReader& reader, Communication& communication) {
  constexpr std::array kProfiles{"gradhaul", "nccl-2.22", "nccl-2.30"};
  communication.profile = kProfiles[reader.choice(
      "profile", {.otherwise = {"gradhaul"}, .available = {kProfiles.begin(), kProfiles.end()}})];
}

constexpr std::array kAlgorithms{
    Algorithm::kRing,
    Algorithm::kTree,
    Algorithm::kDoubleBinaryTree,
    Algorithm::kHierarchical,
    Algorithm::kHalvingDoubling,
    Algorithm::kRecursiveDoubling,
    Algorithm::kParameterServer,
    Algorithm::kPairwise,
};

// One from a file; the protocol that it is written for is then the usual one.
std::optional<Protocol> read_listed(MappingReader& reader, const Workload& workload,
                                    const Cluster* cluster, Communication& communication) {
  const int ranks = cluster == nullptr ? 0 : cluster->ranks();
  const auto listed = read_listed_file(reader, "algorithm", workload.collective, ranks);
  if (!listed) return std::nullopt;
  communication.algorithm = Algorithm::kListed;
  communication.listed = listed->program;
  return listed->protocol;
}

// `chooses`: where the key is left out, what takes least is chosen. The protocol that goes with it.
std::optional<Protocol> read_algorithm(MappingReader& reader, const Workload& workload,
                                       const Cluster* cluster, bool chooses,
                                       Communication& communication) {
  if (const TreeNode* node = reader.node() == nullptr ? nullptr : reader.node()->find("algorithm");
      node != nullptr && node->kind == TreeKind::kScalar && names_algorithm_file(node->text)) {
    return read_listed(reader, workload, cluster, communication);
  }
  std::vector<std::string_view> names;
  for (const Algorithm algorithm : kAlgorithms) names.push_back(name_of(algorithm));
  names.push_back("auto");
  const std::span<const Algorithm> possible = algorithms_of(workload.collective);
  const std::size_t index = reader.choice(
      "algorithm",
      {.otherwise = {chooses ? "auto" : name_of(possible.front())}, .available = names});
  communication.choose_algorithm = index == kAlgorithms.size();
  communication.algorithm = communication.choose_algorithm ? possible.front() : kAlgorithms[index];
  const Algorithm running = running_algorithm(workload.collective, communication.algorithm);
  if (!has_algorithm(workload.collective, running)) {
    std::vector<std::string> offer;
    for (const Algorithm algorithm : possible) offer.emplace_back(name_of(algorithm));
    reader.report("algorithm",
                  fmt::format("algorithm: there is no {} of {}, which takes {}", name_of(running),
                              name_of(workload.collective), join_or(offer)));
  }
  return std::nullopt;
}

void read_protocol(MappingReader& reader, bool chooses, std::optional<Protocol> usual,
                   Communication& communication) {
  constexpr std::array kProtocols{Protocol::kSimple, Protocol::kLl, Protocol::kLl128};
  const std::size_t index =
      reader.choice("protocol", {.otherwise = {usual     ? protocol_name(*usual)
                                               : chooses ? "auto"
                                                         : "simple"},
                                 .available = {"simple", "ll", "ll128", "auto"},
                                 .unavailable = {}});
  communication.choose_protocol = index == kProtocols.size();
  if (index < kProtocols.size()) communication.protocol = kProtocols[index];
}

// Sends and receives to NCCL, of which it chooses nothing.
bool is_nccl_peers(const Communication& communication, const Workload& workload) {
  return is_nccl_profile(communication.profile) && !nccl_tunes(workload.collective);
}

void read_channels(MappingReader& reader, const Workload& workload, const Cluster* cluster,
                   Communication& communication) {
  const std::int64_t channels = reader.count(
      "channels",
      {.otherwise = {"auto"}, .least = 1, .most = kMostChannels, .words = {{"auto", 0}}});
  if (channels > 0) communication.channels = static_cast<int>(channels);
  if (channels == 0 && is_nccl_peers(communication, workload) && cluster != nullptr &&
      cluster->node.gpu.compute_capability > 0) {
    communication.channels = nccl_peer_channels(*cluster, nccl_version_of(communication.profile));
  }
  if (!communication.listed) return;
  if (communication.channels && channels != communication.listed->channels) {
    reader.report("channels", fmt::format("channels: {} has {}", communication.listed->name,
                                          communication.listed->channels));
  }
  communication.channels = communication.listed->channels;
}

// That of the protocol.
Bytes usual_slot(const Communication& communication, const Workload& workload,
                 const Cluster* cluster) {
  if (!is_nccl_profile(communication.profile)) return usual_slot_size(communication.protocol);
  const bool peers = is_nccl_peers(communication, workload) && cluster != nullptr &&
                     communication.protocol == Protocol::kSimple;
  return peers ? nccl_peer_slot_size(*cluster) : nccl_slot_size(communication.protocol);
}

// Where the protocol is to be chosen, each has its own.
std::string usual_slot_text(const Communication& communication, Bytes usual) {
  if (communication.choose_protocol) return "auto";
  return usual.count % 1024 == 0 ? fmt::format("{}KiB", usual.count / 1024)
                                 : fmt::format("{}B", usual.count);
}

void read_slots(MappingReader& reader, const Workload& workload, const Cluster* cluster,
                Communication& communication) {
  const bool nccl = is_nccl_profile(communication.profile);
  const bool by_protocol = nccl && communication.choose_protocol;
  const std::string slots = by_protocol ? "auto"
                            : is_nccl_peers(communication, workload)
                                ? std::to_string(kNcclPeerSlots)
                            : nccl ? std::to_string(nccl_slots(communication.protocol))
                                   : "8";
  NumberSpec spec{.otherwise = {slots}, .least = 1, .most = kMostSlots};
  if (by_protocol) spec.words = {{"auto", 0}};
  communication.slots = static_cast<int>(reader.count("slots", spec));
  const Bytes usual_size = usual_slot(communication, workload, cluster);
  const std::string usual = usual_slot_text(communication, usual_size);
  communication.slot_size = reader.bytes(
      "slot_size",
      {.otherwise = {usual}, .least = 1, .most = kLargestWrite, .words = {{"auto", 0}}});
  communication.own_slot_size = communication.slot_size.count > 0;
  if (!communication.own_slot_size) {
    communication.slot_size = usual_size;
  }
  const Bytes element = size_of(workload.datatype);
  if (communication.slot_size < element) {
    reader.report("slot_size",
                  fmt::format("slot_size: {} is less than one element of the message, {}",
                              format_bytes(communication.slot_size), format_bytes(element)));
  }
  communication.queue_pairs = static_cast<int>(
      reader.count("queue_pairs", {.otherwise = {"1"}, .least = 1, .most = kMostQueuePairs}));
}

// One ring, as it is listed; empty where something is wrong with it.
std::vector<Rank> read_ring(const TreeNode& node, Problems& problems) {
  std::vector<Rank> ring;
  for (const TreeNode& item : node.children) {
    const auto rank = item.kind == TreeKind::kScalar ? parse_count(item.text)
                                                     : Parsed<std::int64_t>{{}, "is no rank"};
    if (!rank.value || *rank.value < 0 || *rank.value > 1 << 30) {
      problems.add(item.location,
                   fmt::format("ring_order: \"{}\" is no rank; ranks are 0, 1, 2 and "
                               "so on",
                               item.text));
      return {};
    }
    ring.push_back(static_cast<Rank>(*rank.value));
  }
  return ring;
}

// Every rank once.
void check_ring(const TreeNode& node, const std::vector<Rank>& ring, int ranks,
                Problems& problems) {
  std::vector<bool> seen(static_cast<std::size_t>(ranks));
  for (std::size_t i = 0; i < ring.size(); ++i) {
    if (ring[i] >= ranks) {
      problems.add(node.children[i].location,
                   fmt::format("ring_order: there is no rank {}; {} ranks are called 0 to {}",
                               ring[i], ranks, ranks - 1));
      return;
    }
    if (seen[static_cast<std::size_t>(ring[i])]) {
      problems.add(node.children[i].location,
                   fmt::format("ring_order: rank {} is in the ring twice", ring[i]));
      return;
    }
    seen[static_cast<std::size_t>(ring[i])] = true;
  }
  const auto absent = std::find(seen.begin(), seen.end(), false);
  if (absent != seen.end()) {
    problems.add(
        node.location,
        fmt::format("ring_order: the ring lacks rank {}; it holds each of the {} ranks once",
                    absent - seen.begin(), ranks));
  }
}

void record_ring(FilledValue& filled, const std::vector<Rank>& ring) {
  filled.kind = FilledValue::Kind::kList;
  for (const Rank rank : ring) {
    FilledValue& value = filled.children.emplace_back();
    value.kind = FilledValue::Kind::kInteger;
    value.text = fmt::format("{}", rank);
  }
}

void read_listed_rings(MappingReader& reader, const TreeNode& node, const Cluster* cluster,
                       Communication& communication) {
  communication.ring_order = RingOrder::kListed;
  FilledValue& filled = reader.record("ring_order", FilledValue::Kind::kList, "", &node);
  const bool nested = !node.children.empty() && node.children.front().kind == TreeKind::kSequence;
  std::vector<const TreeNode*> rings{&node};
  if (nested) {
    rings.clear();
    for (const TreeNode& child : node.children) rings.push_back(&child);
  }
  for (const TreeNode* ring : rings) {
    if (ring->kind != TreeKind::kSequence) {
      reader.problems().add(ring->location,
                            "ring_order: a list of rings holds lists of ranks alone");
      continue;
    }
    std::vector<Rank> ranks = read_ring(*ring, reader.problems());
    if (ranks.empty() && !ring->children.empty()) continue;
    if (cluster != nullptr) check_ring(*ring, ranks, cluster->ranks(), reader.problems());
    record_ring(nested ? filled.children.emplace_back() : filled, ranks);
    communication.listed_rings.push_back(std::move(ranks));
  }
}

void read_ring_order(MappingReader& reader, const Cluster* cluster, Communication& communication) {
  const TreeNode* node = reader.raw("ring_order");
  if (node == nullptr || node->kind != TreeKind::kSequence) {
    constexpr std::array kOrders{RingOrder::kBalanced, RingOrder::kNccl};
    communication.ring_order = kOrders[reader.choice(
        "ring_order", {.otherwise = {is_nccl_profile(communication.profile) ? "nccl" : "balanced"},
                       .available = {"balanced", "nccl"}})];
    return;
  }
  read_listed_rings(reader, *node, cluster, communication);
  const std::size_t rings = communication.listed_rings.size();
  if (rings <= 1) return;
  // One ring for each channel: their number says how many channels there are.
  if (!communication.channels && rings <= kMostChannels) {
    communication.channels = static_cast<int>(rings);
  } else if (!communication.channels ||
             static_cast<std::size_t>(*communication.channels) != rings) {
    reader.report(
        "ring_order",
        fmt::format("ring_order: {} rings for {} channels; list one ring for "
                    "all channels, or one for each",
                    rings, communication.channels ? *communication.channels : kMostChannels));
  }
}

void read_gpudirect(MappingReader& reader, const Cluster* cluster, Communication& communication) {
  constexpr std::array kSettings{GpuDirect::kAuto, GpuDirect::kOn, GpuDirect::kOff};
  communication.gpudirect = kSettings[reader.choice(
      "gpudirect", {.otherwise = {"auto"}, .available = {"auto", "on", "off"}, .unavailable = {}})];
  if (communication.gpudirect != GpuDirect::kOff || cluster == nullptr) return;
  if (cluster->node.gpu.pcie) return;
  reader.report("gpudirect",
                fmt::format("gpudirect: off needs PCIe, by which data would reach host memory, and "
                            "{} has none",
                            cluster->node.name));
}

}  // namespace

std::string missing_level(Collective collective, Algorithm algorithm, const Cluster& cluster,
                          std::string_view owner) {
  const Algorithm running = running_algorithm(collective, algorithm);
  if (!has_algorithm(collective, running) || has_levels(running, cluster)) return "";
  return fmt::format(
      "algorithm: {} has a level within nodes and one across them, and {} has {}; "
      "all others do without",
      name_of(running), owner, cluster.nodes < 2 ? "one node" : "one rank in each node");
}

Communication read_communication(MappingReader& reader, const Workload& workload,
                                 const Cluster* cluster, bool tuned) {
  Communication communication;
  read_profile(reader, communication);
  // NCCL chooses whatever it is not held to.
  const bool chooses =
      tuned || (is_nccl_profile(communication.profile) && !is_nccl_peers(communication, workload));
  const auto usual = read_algorithm(reader, workload, cluster, chooses, communication);
  read_protocol(reader, chooses, usual, communication);
  read_channels(reader, workload, cluster, communication);
  read_slots(reader, workload, cluster, communication);
  if (communication.listed && communication.slots > 0) {
    check_listed_program(reader, "algorithm", communication.listed, communication.slots);
  }
  read_gpudirect(reader, cluster, communication);
  read_communication_thread(reader, cluster, communication);
  read_transport(reader, cluster, communication);
  read_ring_order(reader, cluster, communication);
  read_queue_pair_settings(reader, communication);
  reader.finish();
  return communication;
}

}  // namespace gradhaul

// Whether a move is a symmetry: where it takes everything, and that it keeps what decides.

#include <algorithm>
#include <map>
#include <utility>

#include "sim/schedule_symmetry.h"
#include "sim/symmetry.h"

namespace gradhaul {
namespace {

// Notes that `from` is taken to `to`; false where one of the two was taken otherwise.
class Image {
 public:
  explicit Image(std::size_t count) : to_(count, -1), from_(count, -1) {}
  bool set(std::int32_t from, std::int32_t to) {
    if ((from < 0) != (to < 0)) return false;
    if (from < 0) return true;
    std::int32_t& there = to_[static_cast<std::size_t>(from)];
    std::int32_t& back = from_[static_cast<std::size_t>(to)];
    if (there < 0 && back < 0) {
      there = to;
      back = from;
    }
    return there == to && back == from;
  }
  std::int32_t of(std::int32_t from) const {
    return from < 0 ? -1 : to_[static_cast<std::size_t>(from)];
  }
  const std::vector<std::int32_t>& all() const { return to_; }
  std::vector<std::int32_t> take() { return std::move(to_); }

 private:
  std::vector<std::int32_t> to_;
  std::vector<std::int32_t> from_;
};

// Lists of numbers by place; whether each list is taken to that of its place's image, in order.
class Turns {
 public:
  explicit Turns(std::size_t places) : lists_(places) {}
  void add(std::int32_t place, std::int32_t number) {
    if (place >= 0) lists_[static_cast<std::size_t>(place)].push_back(number);
  }
  bool kept(const Image& places, const Image& numbers) const {
    for (std::size_t i = 0; i < lists_.size(); ++i) {
      if (lists_[i].empty()) continue;
      const std::int32_t image = places.of(static_cast<std::int32_t>(i));
      if (image < 0) return false;
      const std::vector<std::int32_t>& there = lists_[static_cast<std::size_t>(image)];
      if (there.size() != lists_[i].size()) return false;
      for (std::size_t j = 0; j < there.size(); ++j) {
        if (numbers.of(lists_[i][j]) != there[j]) return false;
      }
    }
    return true;
  }

 private:
  std::vector<std::vector<std::int32_t>> lists_;
};

bool alike(const Link& a, const Link& b) {
  return a.kind == b.kind && a.rate == b.rate && a.latency == b.latency &&
         std::equal(std::begin(a.window), std::end(a.window), std::begin(b.window)) &&
         a.credit_return == b.credit_return && a.network == b.network &&
         a.pause.lossless() == b.pause.lossless() && a.pause.xoff == b.pause.xoff &&
         a.pause.xon == b.pause.xon && a.pause.headroom == b.pause.headroom &&
         a.pause.cable == b.pause.cable && a.storms.empty() && b.storms.empty();
}

// Where something takes no time, what happens at one instant in different places may depend on the
// order in which places are looked at.
bool takes_time(const Link& link) {
  const bool guarded = std::any_of(std::begin(link.window), std::end(link.window),
                                   [](std::int64_t window) { return window > 0; });
  const Duration back =
      link.kind == LinkKind::kPcie ? link.credit_return - link.latency : link.credit_return;
  const bool passes = link.latency > Duration{} || !link.rate.unlimited();
  return passes && (!guarded || back > Duration{});
}

class MoveChecker {
 public:
  MoveChecker(const Fabric& fabric, const Placement& placement, const Schedule& schedule,
              const Wiring& wiring)
      : fabric_(fabric),
        cluster_(fabric.cluster()),
        placement_(placement),
        schedule_(schedule),
        wiring_(wiring),
        ranks_(static_cast<std::size_t>(cluster_.ranks())),
        channels_(static_cast<std::size_t>(placement.channels)),
        connections_(wiring.connections.size()),
        flows_(wiring.flows.size()),
        links_(fabric.links().size()),
        resources_(fabric.resources().size()),
        injectors_(static_cast<std::size_t>(gpu_injector(cluster_, cluster_.nodes, 0))) {}

  std::optional<SymmetryMove> move(int nodes, int gpus) {
    move_ranks(nodes, gpus);
    // What takes longest comes last.
    const bool kept = take_channels() && take_connections() && keeps_turns() &&
                      keeps_order_of_links() &&
                      asks_for_the_same(schedule_, ranks_.all(), channels_.all());
    if (!kept) return std::nullopt;
    SymmetryMove move;
    move.ranks = ranks_.take();
    move.channels = channels_.take();
    move.connections = connections_.take();
    move.flows = flows_.take();
    move.links = links_.take();
    move.resources = resources_.take();
    move.injectors = injectors_.take();
    return move;
  }

 private:
  void move_ranks(int nodes, int gpus);
  bool take_channels();
  bool same_ring(int channel, int image) const;
  bool take_connections();
  bool take_path(const Path& path, const Path& image);
  bool take_flow(FlowId flow, FlowId image);
  bool take_link(LinkId link, LinkId image);
  bool copies_keep_turns(const std::vector<const Path*>& paths, const Image& places) const;
  bool keeps_turns() const;
  bool keeps_order_of_links() const;
  int gpu_image(int gpu) const;
  ConnectionKey image_of(const ConnectionKey& key) const {
    return {channels_.of(key.channel), ranks_.of(key.source), ranks_.of(key.destination),
            key.stream};
  }

  const Fabric& fabric_;
  const Cluster& cluster_;
  const Placement& placement_;
  const Schedule& schedule_;
  const Wiring& wiring_;
  Image ranks_;
  Image channels_;
  Image connections_;
  Image flows_;
  Image links_;
  Image resources_;
  Image injectors_;
};

void MoveChecker::move_ranks(int nodes, int gpus) {
  const int per_node = cluster_.ranks_per_node;
  for (Rank rank = 0; rank < cluster_.ranks(); ++rank) {
    const int node = (rank / per_node + nodes) % cluster_.nodes;
    ranks_.set(rank, node * per_node + (rank % per_node + gpus) % per_node);
  }
}

bool MoveChecker::same_ring(int channel, int image) const {
  const std::vector<Rank>& from = placement_.rings[static_cast<std::size_t>(channel)];
  const std::vector<Rank>& to = placement_.rings[static_cast<std::size_t>(image)];
  const auto start = std::find(to.begin(), to.end(), ranks_.of(from.front()));
  if (from.size() != to.size() || start == to.end()) return false;
  auto at = start;
  for (const Rank rank : from) {
    if (*at != ranks_.of(rank)) return false;
    if (++at == to.end()) at = to.begin();
  }
  return true;
}

// Of several channels with the same ring, in their order.
bool MoveChecker::take_channels() {
  std::vector<bool> taken(static_cast<std::size_t>(placement_.channels), false);
  for (int channel = 0; channel < placement_.channels; ++channel) {
    int image = 0;
    while (image < placement_.channels &&
           (taken[static_cast<std::size_t>(image)] || !same_ring(channel, image))) {
      ++image;
    }
    if (image == placement_.channels) return false;
    taken[static_cast<std::size_t>(image)] = true;
    channels_.set(channel, image);
  }
  return true;
}

int MoveChecker::gpu_image(int gpu) const {
  return cluster_.gpu_of(ranks_.of(cluster_.rank_of(gpu)));
}

bool MoveChecker::take_link(LinkId link, LinkId image) {
  const Link& from = fabric_.link(link);
  const Link& to = fabric_.link(image);
  if (!alike(from, to) || !takes_time(from) || !links_.set(link, image)) return false;
  // Pause frames go back by a link that need not carry anything else.
  return links_.set(from.pause.reverse, to.pause.reverse) &&
         resources_.set(from.resource, to.resource);
}

bool MoveChecker::take_flow(FlowId flow, FlowId image) {
  if (!flows_.set(flow, image)) return false;
  if (flow == kNone) return true;
  const FlowSpec& from = wiring_.flows[static_cast<std::size_t>(flow)];
  const FlowSpec& to = wiring_.flows[static_cast<std::size_t>(image)];
  if (from.route.size() != to.route.size() || from.traffic_class != to.traffic_class ||
      from.kind != to.kind || from.data != to.data || from.notify_start != to.notify_start ||
      from.endpoint_keeps_buffer != to.endpoint_keeps_buffer ||
      !flows_.set(from.answers, to.answers)) {
    return false;
  }
  for (std::size_t i = 0; i < from.route.size(); ++i) {
    if (from.route[i].unit != to.route[i].unit || from.route[i].overhead != to.route[i].overhead ||
        !take_link(from.route[i].link, to.route[i].link)) {
      return false;
    }
  }
  return true;
}

bool MoveChecker::take_path(const Path& path, const Path& image) {
  if (path.kind != image.kind || path.queue_pairs != image.queue_pairs || path.ways != image.ways ||
      path.flush != image.flush || path.peer_latency != image.peer_latency ||
      !injectors_.set(path.injector, image.injector) ||
      !resources_.set(path.sender, image.sender) ||
      !resources_.set(path.receiver, image.receiver)) {
    return false;
  }
  if (path.staged_out != image.staged_out || path.staged_in != image.staged_in ||
      path.source_detour != image.source_detour ||
      path.destination_detour != image.destination_detour ||
      !resources_.set(path.source_socket_link, image.source_socket_link) ||
      !resources_.set(path.destination_socket_link, image.destination_socket_link)) {
    return false;
  }
  if (path.kind == PathKind::kInstant) return true;
  if (gpu_image(path.source_gpu) != image.source_gpu ||
      gpu_image(path.destination_gpu) != image.destination_gpu) {
    return false;
  }
  for (std::size_t i = 0; i < kFlowKinds; ++i) {
    const bool own_ways = i == static_cast<std::size_t>(FlowKind::kWire) ||
                          i == static_cast<std::size_t>(FlowKind::kAcknowledge) ||
                          i == static_cast<std::size_t>(FlowKind::kNotify);
    const int flows = own_ways && path.flows[i] != kNone ? path.ways : 1;
    for (int way = 0; way < flows; ++way) {
      if (!take_flow(path.flows[i] + way, image.flows[i] + way)) return false;
    }
  }
  return true;
}

bool MoveChecker::take_connections() {
  std::map<ConnectionKey, std::int32_t> numbers;
  for (std::size_t i = 0; i < wiring_.connections.size(); ++i) {
    numbers[wiring_.connections[i].sent_as] = static_cast<std::int32_t>(i);
  }
  for (std::size_t i = 0; i < wiring_.connections.size(); ++i) {
    const WiredConnection& connection = wiring_.connections[i];
    const auto image = numbers.find(image_of(connection.sent_as));
    if (image == numbers.end() || !connections_.set(static_cast<std::int32_t>(i), image->second)) {
      return false;
    }
    const WiredConnection& to = wiring_.connections[static_cast<std::size_t>(image->second)];
    if (!take_path(connection.data, to.data) || !take_path(connection.credit, to.credit)) {
      return false;
    }
  }
  const int per_node = cluster_.ranks_per_node;
  for (Rank rank = 0; rank < cluster_.ranks(); ++rank) {
    const Rank to = ranks_.of(rank);
    const auto take = [&](auto resource) {
      return resources_.set((fabric_.*resource)(rank / per_node, rank % per_node),
                            (fabric_.*resource)(to / per_node, to % per_node));
    };
    if (!take(&Fabric::reduce_resource) || !take(&Fabric::memory_resource)) return false;
    if (fabric_.reduce_rate(rank / per_node, rank % per_node) !=
        fabric_.reduce_rate(to / per_node, to % per_node)) {
      return false;
    }
  }
  return true;
}

// Of links between which packets pass, the one that is looked at first stays so.
bool MoveChecker::keeps_order_of_links() const {
  const std::vector<std::int32_t> turns = fabric_.turns();
  const auto first = [&](LinkId a, LinkId b) {
    return turns[static_cast<std::size_t>(a)] < turns[static_cast<std::size_t>(b)];
  };
  for (const FlowSpec& flow : wiring_.flows) {
    for (std::size_t i = 1; i < flow.route.size(); ++i) {
      const LinkId before = flow.route[i - 1].link;
      const LinkId link = flow.route[i].link;
      // Credits of whole packets do not depend on when it is known that they will be back.
      if (is_packet_network(fabric_.link(before).kind)) continue;
      if (first(before, link) != first(links_.of(before), links_.of(link))) return false;
    }
  }
  return true;
}

// At copy engines, by GPU: copies to host memory, and then those from there.
bool MoveChecker::copies_keep_turns(const std::vector<const Path*>& paths,
                                    const Image& places) const {
  const std::int32_t gpus = cluster_.nodes * cluster_.node.gpu_count;
  Turns turns(2 * static_cast<std::size_t>(gpus));
  Image engines(2 * static_cast<std::size_t>(gpus));
  for (const Path* path : paths) {
    if (path->staged_out) turns.add(path->source_gpu, path->place);
    if (path->staged_in) turns.add(gpus + path->destination_gpu, path->place);
  }
  for (Rank rank = 0; rank < cluster_.ranks(); ++rank) {
    const int gpu = cluster_.gpu_of(rank);
    engines.set(gpu, gpu_image(gpu));
    engines.set(gpus + gpu, gpus + gpu_image(gpu));
  }
  return turns.kept(engines, places);
}

bool MoveChecker::keeps_turns() const {
  Turns on_links(fabric_.links().size());
  for (std::size_t i = 0; i < wiring_.flows.size(); ++i) {
    for (const RouteHop& hop : wiring_.flows[i].route) {
      on_links.add(hop.link, static_cast<FlowId>(i));
    }
  }
  Turns at_sources(static_cast<std::size_t>(cluster_.ranks()));
  Turns at_destinations(static_cast<std::size_t>(cluster_.ranks()));
  Turns at_injectors(static_cast<std::size_t>(gpu_injector(cluster_, cluster_.nodes, 0)));
  const std::vector<const Path*> paths = in_place_order(wiring_);
  Image places(paths.size());
  for (std::size_t i = 0; i < wiring_.connections.size(); ++i) {
    const WiredConnection& connection = wiring_.connections[i];
    const auto number = static_cast<std::int32_t>(i);
    at_sources.add(connection.sent_as.source, number);
    at_destinations.add(connection.sent_as.destination, number);
    const WiredConnection& image =
        wiring_.connections[static_cast<std::size_t>(connections_.of(number))];
    places.set(connection.data.place, image.data.place);
    places.set(connection.credit.place, image.credit.place);
  }
  for (const Path* path : paths) at_injectors.add(path->injector, path->place);
  if (!copies_keep_turns(paths, places)) return false;
  if (!on_links.kept(links_, flows_) || !at_sources.kept(ranks_, connections_) ||
      !at_destinations.kept(ranks_, connections_) || !at_injectors.kept(injectors_, places)) {
    return false;
  }
  const RingPlaces ring = ring_places(placement_);
  for (Rank rank = 0; rank < cluster_.ranks(); ++rank) {
    const std::vector<int> turns = channel_turns(ring, rank);
    const std::vector<int> there = channel_turns(ring, ranks_.of(rank));
    for (int channel = 0; channel < placement_.channels; ++channel) {
      if (turns[static_cast<std::size_t>(channel)] !=
          there[static_cast<std::size_t>(channels_.of(channel))]) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

std::optional<SymmetryMove> symmetry_move(const Fabric& fabric, const Placement& placement,
                                          const Schedule& schedule, const Wiring& wiring, int nodes,
                                          int gpus) {
  return MoveChecker(fabric, placement, schedule, wiring).move(nodes, gpus);
}

}  // namespace gradhaul

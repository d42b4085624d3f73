// The wiring of the home ranks alone, in which each peer is replaced by the home rank that it is a
// copy of. What differs is by how many copies things lie apart.

#include "core/assert.h"
#include "sim/symmetry.h"

namespace gradhaul {

class WiringFolder {
 public:
  WiringFolder(const Wiring& wiring, const Symmetry& symmetry, const Cluster& cluster)
      : wiring_(wiring), symmetry_(symmetry), copies_(symmetry.copies()), cluster_(cluster) {}

  Wiring fold() {
    add_flows();
    for (const WiredConnection& connection : wiring_.connections) {
      if (symmetry_.copy(connection.sent_as.source) == 0) add_connection(connection);
    }
    return std::move(folded_);
  }

 private:
  void add_flows();
  void add_connection(const WiredConnection& connection);
  // `from`: the copy of who posts.
  Path path_from(int from, const Path& path);
  ResourceId seen(ResourceId resource, int from) const {
    if (resource < 0) return resource;
    const int copy = Symmetry::at(symmetry_.resources_.copy, resource);
    return copies_.seen(Symmetry::at(symmetry_.resources_.home, resource),
                        copies_.minus(copy, from));
  }
  int home_gpu(int gpu) const { return cluster_.gpu_of(symmetry_.home(cluster_.rank_of(gpu))); }

  const Wiring& wiring_;
  const Symmetry& symmetry_;
  const Copies& copies_;
  const Cluster& cluster_;
  std::vector<FlowId> numbers_;  // of home flows among those that are left
  Wiring folded_;
};

void WiringFolder::add_flows() {
  numbers_.assign(wiring_.flows.size(), kNone);
  for (std::size_t i = 0; i < wiring_.flows.size(); ++i) {
    if (symmetry_.flows_.copy[i] != 0) continue;
    numbers_[i] = static_cast<FlowId>(folded_.flows.size());
    FlowSpec& added = folded_.flows.emplace_back(wiring_.flows[i]);
    for (RouteHop& hop : added.route) {
      hop.copy = Symmetry::at(symmetry_.links_.copy, hop.link);
      hop.link = symmetry_.home_link(hop.link);
    }
    if (added.answers == kNone) continue;
    GRADHAUL_ASSERT(Symmetry::at(symmetry_.flows_.copy, added.answers) == 0,
                    "what answers a flow is as many copies on as the flow");
    added.answers = numbers_[static_cast<std::size_t>(added.answers)];
  }
}

Path WiringFolder::path_from(int from, const Path& path) {
  Path folded = path;
  folded.source_gpu = home_gpu(path.source_gpu);
  folded.destination_gpu = home_gpu(path.destination_gpu);
  folded.sender = seen(path.sender, from);
  folded.receiver = seen(path.receiver, from);
  folded.source_socket_link = seen(path.source_socket_link, from);
  folded.destination_socket_link = seen(path.destination_socket_link, from);
  for (std::size_t i = 0; i < kFlowKinds; ++i) {
    if (path.flows[i] == kNone) continue;
    // Flows of one path are moved together, and the home ones keep their order.
    folded.flows[i] = Symmetry::at(numbers_, Symmetry::at(symmetry_.flows_.home, path.flows[i]));
    folded.shifts[i] = copies_.minus(Symmetry::at(symmetry_.flows_.copy, path.flows[i]), from);
  }
  if (path.injector == kNone) return folded;
  folded.injector = Symmetry::at(symmetry_.injectors_.home, path.injector);
  folded.first_queue_pair = static_cast<std::int32_t>(folded_.queue_pairs.size());
  folded_.queue_pairs.insert(folded_.queue_pairs.end(), static_cast<std::size_t>(path.queue_pairs),
                             folded.injector);
  return folded;
}

void WiringFolder::add_connection(const WiredConnection& connection) {
  const int there = symmetry_.copy(connection.sent_as.destination);
  const auto number = static_cast<std::int32_t>(&connection - wiring_.connections.data());
  const std::int32_t received =
      symmetry_.moved(&SymmetryMove::connections, number, copies_.minus(0, there));
  WiredConnection added;
  added.sent_as = connection.sent_as;
  added.received_as = wiring_.connections[static_cast<std::size_t>(received)].sent_as;
  added.shift = there;
  added.data = path_from(0, connection.data);
  added.credit = path_from(there, connection.credit);
  folded_.connections.push_back(added);
}

Wiring fold(const Wiring& wiring, const Symmetry& symmetry, const Cluster& cluster) {
  return WiringFolder(wiring, symmetry, cluster).fold();
}

}  // namespace gradhaul

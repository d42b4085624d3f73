#include "sim/flow_paths.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "core/topology_size.h"
#include "sim/existing_path.h"
#include "sim/payload_routes.h"

namespace gradhaul {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
// Less than rounding makes of it.
constexpr double kNearlyEqual = 1 + 1e-12;
// Chunks and headers that are not quite equal make no more of it.
constexpr double kNearlyAlike = 1 + 1e-5;

class FlowPathFinder {
 public:
  FlowPathFinder(const PredictionRequest& request, const Placement& placement, const FlowPlan& plan,
                 const ResourceLoad& load)
      : request_(request), placement_(placement), plan_(plan), load_(load), fabric_(load.fabric()) {
    const Node& node = request.cluster.node;
    memory_ = static_cast<std::int32_t>(fabric_.links().size());
    nics_ = memory_ + request.cluster.nodes * node.gpu_count;
    kernels_ = nics_ + request.cluster.nodes * node.nic_count;
    const auto groups = static_cast<std::int32_t>(plan.groups.size());
    cores_ = kernels_ + load.ranks() * groups;
    crossings_.resize(static_cast<std::size_t>(cores_) + load.cores.size());
  }

  FlowPaths find() {
    limited_by_ring_.resize(plan_.conveyors.size(), false);
    for (const Conveyor& conveyor : plan_.conveyors) routes_.push_back(route_of(conveyor));
    for (std::size_t i = 0; i < routes_.size(); ++i) {
      for (const std::int32_t place : routes_[i]) {
        crossings_[static_cast<std::size_t>(place)].units += plan_.conveyors[i].all_units();
      }
    }
    set_capacities();
    for (std::size_t i = 0; i < routes_.size(); ++i) set_own_limit(i);
    if (plan_.ring) {
      limit_to_ring();
      add_queueing();
    }
    share();
    return std::move(found_);
  }

 private:
  struct Crossing {
    std::int64_t units = 0;
    FlowCapacity capacity;
    double wanted = 0;  // by all its flows
    int flows = 0;
    std::int32_t number = -1;  // where it is shared
  };
  std::int32_t kernel_place(Rank rank, std::int32_t group) const {
    return kernels_ + rank * static_cast<std::int32_t>(plan_.groups.size()) + group;
  }
  std::vector<std::int32_t> route_of(const Conveyor& conveyor) const;
  void check_one_way(const Route& wire) const;
  void set_capacity(std::int32_t place, std::int64_t occupied_ps, ResourceId resource);
  void set_capacities();
  double limit_of_slots(const Conveyor& conveyor) const;
  void set_own_limit(std::size_t conveyor);
  void limit_to_ring();
  void add_queueing();
  void share();

  const PredictionRequest& request_;
  const Placement& placement_;
  const FlowPlan& plan_;
  const ResourceLoad& load_;
  const Fabric& fabric_;
  // Where what is no link begins among the crossings.
  std::int32_t memory_;
  std::int32_t nics_;
  std::int32_t kernels_;
  std::int32_t cores_;  // of hosts, by GPU: TCP
  std::vector<Crossing> crossings_;
  std::vector<std::vector<std::int32_t>> routes_;
  std::vector<bool> limited_by_ring_;  // by conveyor
  FlowPaths found_;
};

// Equal channels are one flow here, and go one way.
void FlowPathFinder::check_one_way(const Route& wire) const {
  const Network& network = request_.cluster.network;
  if (network.routing == Routing::kStatic || wire.size() <= 2) return;
  const bool ring = network.topology.kind == TopologyKind::kRing;
  if (ring && cables_per_neighbour(network.topology) == 1) return;
  const bool pairs = network.routing == Routing::kEcmp;
  throw SimulationError(
      "flow has all between two NICs go one way, and the network's routing spreads " +
      std::string(pairs ? "queue pairs over " : "packets over ") +
      std::to_string(network.topology.uplinks_per_leaf) +
      " uplinks of a leaf: use packet or analytic, or set "
      "cluster.network.routing to static");
}

std::vector<std::int32_t> FlowPathFinder::route_of(const Conveyor& conveyor) const {
  const Node& node = request_.cluster.node;
  const Hop& hop = conveyor.hop;
  const int per_node = placement_.ranks_per_node;
  const int from = hop.source / per_node;
  const int to = hop.destination / per_node;
  const int source = hop.source % per_node;
  const int destination = hop.destination % per_node;
  std::vector<std::int32_t> places;
  // What crosses a link twice has half of it, which the load says: it takes twice as long.
  const auto add = [&](const Route& route) {
    for (const RouteHop& step : route) {
      if (std::find(places.begin(), places.end(), step.link) == places.end()) {
        places.push_back(step.link);
      }
    }
  };
  int reading = source;
  if (hop.source_nic < 0 && hop.staged_out) {
    const int socket = fabric_.host_socket(from, source);
    add(copy_out_route(fabric_, from, source, socket));
    add(copy_in_routes(fabric_, from, destination, socket).completion);
  } else if (hop.source_nic < 0) {
    add(existing_peer(fabric_, from, source, destination));
  } else {
    if (hop.relay_gpu >= 0) {
      reading = hop.relay_gpu;
      add(fabric_.peer(from, source, reading));
    }
    places.push_back(nics_ + from * node.nic_count + hop.source_nic);
    if (hop.staged_out) {
      add(copy_out_route(fabric_, from, reading, fabric_.host_socket(from, reading)));
    }
    add(read_routes(fabric_, from, hop.source_nic, reading, hop.staged_out).completion);
    const Route wire = existing_wire(fabric_, from, hop.source_nic, to, hop.destination_nic);
    check_one_way(wire);
    add(wire);
    add(write_route(fabric_, to, hop.destination_nic, destination, hop.staged_in));
    if (hop.staged_in) {
      add(copy_in_routes(fabric_, to, destination, fabric_.host_socket(to, destination))
              .completion);
    }
  }
  if (hop.source_nic >= 0 && !load_.cores.empty()) {
    places.push_back(cores_ + from * node.gpu_count + reading);
    places.push_back(cores_ + to * node.gpu_count + destination);
  }
  places.push_back(memory_ + from * node.gpu_count + reading);
  places.push_back(memory_ + to * node.gpu_count + destination);
  places.push_back(kernel_place(hop.destination, conveyor.group));
  return places;
}

void FlowPathFinder::set_capacity(std::int32_t place, std::int64_t occupied_ps,
                                  ResourceId resource) {
  Crossing& crossing = crossings_[static_cast<std::size_t>(place)];
  crossing.capacity.resource = resource;
  crossing.capacity.units_per_second = occupied_ps > 0 ? static_cast<double>(crossing.units) *
                                                             1e12 / static_cast<double>(occupied_ps)
                                                       : kInfinite;
}

void FlowPathFinder::set_capacities() {
  const Node& node = request_.cluster.node;
  for (std::int32_t i = 0; i < memory_; ++i) {
    set_capacity(i, load_.occupied(i).ps, fabric_.link(i).resource);
  }
  for (std::int32_t i = 0; i < nics_ - memory_; ++i) {
    set_capacity(memory_ + i, load_.memory_time(i).ps,
                 fabric_.memory_resource(i / node.gpu_count, i % node.gpu_count));
  }
  for (std::size_t i = 0; i < load_.cores.size(); ++i) {
    const auto gpu = static_cast<int>(i);
    set_capacity(cores_ + gpu, load_.core_time(gpu).ps,
                 fabric_.thread_resource(gpu / node.gpu_count, gpu % node.gpu_count));
  }
  for (std::int32_t i = 0; i < kernels_ - nics_; ++i) {
    const NicLoad& nic = load_.nics[static_cast<std::size_t>(i)];
    const bool reading = nic.read_resource != kNoResource;
    set_capacity(nics_ + i, load_.occupied(nic).ps, reading ? nic.read_resource : nic.resource);
  }
  for (Rank rank = 0; rank < load_.ranks(); ++rank) {
    const int node_number = rank / placement_.ranks_per_node;
    const ResourceId resource =
        fabric_.reduce_resource(node_number, rank % placement_.ranks_per_node);
    for (std::size_t group = 0; group < plan_.groups.size(); ++group) {
      // All channels of a group have as much to do, to an element.
      std::int64_t occupied = 0;
      for (const int channel : plan_.groups[group]) {
        occupied += load_.kernel_time(rank, channel).ps;
      }
      const auto channels = static_cast<std::int64_t>(plan_.groups[group].size());
      set_capacity(kernel_place(rank, static_cast<std::int32_t>(group)), occupied / channels,
                   resource);
    }
  }
}

// Where slots hold less than a transfer.
double FlowPathFinder::limit_of_slots(const Conveyor& conveyor) const {
  if (conveyor.window > 0 || conveyor.round_trips.ps == 0) return kInfinite;
  const std::int64_t at_once = conveyor.channels * request_.communication.slots;
  return static_cast<double>(conveyor.chunk.count * kFlowUnitsPerByte) *
         static_cast<double>(at_once) * 1e12 / static_cast<double>(conveyor.round_trips.ps);
}

void FlowPathFinder::set_own_limit(std::size_t number) {
  const Conveyor& conveyor = plan_.conveyors[number];
  FlowPath path;
  path.alone.units_per_second = kInfinite;
  for (const std::int32_t place : routes_[number]) {
    const FlowCapacity& capacity = crossings_[static_cast<std::size_t>(place)].capacity;
    if (capacity.units_per_second < path.alone.units_per_second) path.alone = capacity;
  }
  const double by_slots = limit_of_slots(conveyor);
  if (by_slots < path.alone.units_per_second) {
    path.alone = {by_slots, kNoResource};
    path.cause = Cause::kSlots;
    const Duration sending = conveyor.spacing * request_.communication.slots;
    path.early = conveyor.first + conveyor.slot_return - sending;
  }
  found_.paths.push_back(std::move(path));
}

// A conveyor of a ring gets nothing faster than the narrowest one of its group passes it on; where
// it has gone by that, what limits it is the nearest such one before it.
void FlowPathFinder::limit_to_ring() {
  std::vector<double> narrowest(plan_.groups.size(), kInfinite);
  const auto of_group = [&](std::size_t i) -> double& {
    return narrowest[static_cast<std::size_t>(plan_.conveyors[i].group)];
  };
  for (std::size_t i = 0; i < routes_.size(); ++i) {
    of_group(i) = std::min(of_group(i), found_.paths[i].alone.units_per_second);
  }
  // Twice around, so that the first ones have something before them. A ring's conveyors stand in
  // its order.
  std::vector<FlowPath> before(plan_.groups.size());
  for (const bool second_round : {false, true}) {
    for (std::size_t i = 0; i < routes_.size(); ++i) {
      FlowPath& path = found_.paths[i];
      FlowPath& limit = before[static_cast<std::size_t>(plan_.conveyors[i].group)];
      if (path.alone.units_per_second <= of_group(i) * kNearlyAlike) limit = path;
      if (!second_round) continue;
      if (path.alone.units_per_second > limit.alone.units_per_second * kNearlyAlike) {
        const Conveyor& conveyor = plan_.conveyors[i];
        const auto slices =
            static_cast<double>(conveyor.slice.count * kFlowUnitsPerByte * conveyor.channels);
        path.early = {std::llround(slices * 1e12 / limit.alone.units_per_second)};
        limited_by_ring_[i] = true;
      }
      path.alone = limit.alone;
      path.cause = limit.cause;
    }
  }
}

// A chunk goes nearly twice around.
void FlowPathFinder::add_queueing() {
  std::vector<Duration> around(plan_.groups.size());
  for (std::size_t i = 0; i < routes_.size(); ++i) {
    Duration longest;
    for (const std::int32_t place : routes_[i]) {
      if (place >= memory_) continue;
      const LinkLoad& link = load_.links[static_cast<std::size_t>(place)];
      const Duration slice{load_.busy(place).ps / std::max<std::int64_t>(1, link.messages)};
      longest = std::max(longest, slice * (link.connections - 1));
    }
    around[static_cast<std::size_t>(plan_.conveyors[i].group)] += longest;
  }
  for (const Duration once : around) found_.queueing = std::max(found_.queueing, once * 2);
}

void FlowPathFinder::share() {
  for (std::size_t i = 0; i < routes_.size(); ++i) {
    for (const std::int32_t place : routes_[i]) {
      Crossing& crossing = crossings_[static_cast<std::size_t>(place)];
      crossing.wanted += found_.paths[i].alone.units_per_second;
      ++crossing.flows;
    }
  }
  for (Crossing& crossing : crossings_) {
    if (crossing.flows < 2) continue;
    if (crossing.wanted <= crossing.capacity.units_per_second * kNearlyEqual) continue;
    crossing.number = static_cast<std::int32_t>(found_.shared.size());
    found_.shared.push_back(crossing.capacity);
  }
  for (std::size_t i = 0; i < routes_.size(); ++i) {
    FlowPath& path = found_.paths[i];
    double least = kInfinite;
    for (const std::int32_t place : routes_[i]) {
      const Crossing& crossing = crossings_[static_cast<std::size_t>(place)];
      if (crossing.number < 0) continue;
      path.shared.push_back(crossing.number);
      const double each = crossing.capacity.units_per_second / crossing.flows;
      if (each < least) {
        least = each;
        path.crowded = crossing.capacity.resource;
      }
    }
    const Conveyor& conveyor = plan_.conveyors[i];
    const auto kernel =
        static_cast<std::size_t>(kernel_place(conveyor.hop.destination, conveyor.group));
    const double taken_in = crossings_[kernel].capacity.units_per_second;
    const bool by_kernel = taken_in <= std::min(least, path.alone.units_per_second);
    path.pace = by_kernel ? conveyor.kernel : conveyor.spacing;
    if (limited_by_ring_[i]) path.early = std::max(Duration{}, path.early - path.pace);
  }
}

}  // namespace

FlowPaths find_flow_paths(const PredictionRequest& request, const Placement& placement,
                          const FlowPlan& plan, const ResourceLoad& load) {
  return FlowPathFinder(request, placement, plan, load).find();
}

}  // namespace gradhaul

#include "sim/symmetry.h"

namespace gradhaul {
namespace {

using Sort = std::vector<std::int32_t> SymmetryMove::*;

std::int32_t step(const SymmetryMove& move, Sort sort, std::int32_t index) {
  if (move.order == 1 || index < 0) return index;
  return (move.*sort)[static_cast<std::size_t>(index)];
}

constexpr std::array<Sort, 7> kSorts{&SymmetryMove::ranks,       &SymmetryMove::channels,
                                     &SymmetryMove::connections, &SymmetryMove::flows,
                                     &SymmetryMove::links,       &SymmetryMove::resources,
                                     &SymmetryMove::injectors};

// A part that stays where it is has no copies.
bool moves_all(const SymmetryMove& move) {
  const auto stays = [](const std::vector<std::int32_t>& to) {
    for (std::size_t i = 0; i < to.size(); ++i) {
      if (to[i] == static_cast<std::int32_t>(i)) return true;
    }
    return false;
  };
  return !stays(move.links) && !stays(move.resources);
}

// Whether so many moves bring everything back.
bool comes_round(const SymmetryMove& move) {
  for (const Sort sort : kSorts) {
    for (std::size_t i = 0; i < (move.*sort).size(); ++i) {
      auto at = static_cast<std::int32_t>(i);
      if ((move.*sort)[i] < 0) continue;
      for (int times = 0; times < move.order; ++times) at = step(move, sort, at);
      if (at != static_cast<std::int32_t>(i)) return false;
    }
  }
  return true;
}

// Whether the order of two moves does not matter.
bool commute(const SymmetryMove& a, const SymmetryMove& b) {
  if (a.order == 1 || b.order == 1) return true;
  for (const Sort sort : kSorts) {
    for (std::size_t i = 0; i < (a.*sort).size(); ++i) {
      const auto at = static_cast<std::int32_t>(i);
      if ((a.*sort)[i] >= 0 && step(a, sort, step(b, sort, at)) != step(b, sort, step(a, sort, at)))
        return false;
    }
  }
  return true;
}

// Whether the numbers that come in at each place rise.
class Rising {
 public:
  explicit Rising(std::size_t places) : last_(places, -1) {}
  void add(std::int32_t place, std::int32_t number) {
    std::int32_t& last = last_[static_cast<std::size_t>(place)];
    kept_ = kept_ && number > last;
    last = number;
  }
  bool kept() const { return kept_; }

 private:
  std::vector<std::int32_t> last_;
  bool kept_ = true;
};

std::vector<int> divisors(int number) {
  std::vector<int> found;
  for (int i = 1; i < number; ++i) {
    if (number % i == 0) found.push_back(i);
  }
  return found;
}

}  // namespace

std::int32_t Symmetry::moved(Sort sort, std::int32_t index, int by) const {
  for (int i = 0; i < copies_.first(by); ++i) index = step(first_, sort, index);
  for (int i = 0; i < copies_.second(by); ++i) index = step(second_, sort, index);
  return index;
}

ResourceId Symmetry::resource(ResourceId seen) const {
  if (trivial() || seen < 0) return seen;
  return moved(&SymmetryMove::resources, copies_.resource_of(seen), copies_.copy_of(seen));
}

class SymmetryFinder {
 public:
  SymmetryFinder(const Fabric& fabric, const Placement& placement, const Schedule& schedule,
                 const Wiring& wiring)
      : fabric_(fabric),
        cluster_(fabric.cluster()),
        placement_(placement),
        schedule_(schedule),
        wiring_(wiring) {}

  Symmetry find() {
    const SymmetryMove gpus = gpu_move();
    const SymmetryMove nodes = node_move(gpus);
    const auto resources = static_cast<ResourceId>(fabric_.resources().size());
    found_.first_ = nodes;
    found_.second_ = gpus;
    found_.copies_ = Copies(nodes.order, gpus.order, resources);
    // Resources of all copies are numbered together.
    const Int128 numbers = Int128{found_.copies_.count()} * resources;
    if (found_.trivial() || numbers > INT32_MAX || !part()) return {};
    return std::move(found_);
  }

 private:
  std::optional<SymmetryMove> move(int nodes, int gpus, int order) const {
    std::optional<SymmetryMove> found =
        symmetry_move(fabric_, placement_, schedule_, wiring_, nodes, gpus);
    if (!found) return std::nullopt;
    found->order = order;
    return moves_all(*found) && comes_round(*found) ? found : std::nullopt;
  }
  // Where none is found, a move that leaves all where it is.
  SymmetryMove gpu_move() const {
    for (const int gpus : divisors(cluster_.ranks_per_node)) {
      if (auto found = move(0, gpus, cluster_.ranks_per_node / gpus)) return *found;
    }
    return {};
  }
  SymmetryMove node_move(const SymmetryMove& gpu_move) const {
    const int per_node = cluster_.ranks_per_node / gpu_move.order;
    for (const int nodes : divisors(cluster_.nodes)) {
      const int order = cluster_.nodes / nodes;
      for (int gpus = 0; gpus < per_node; ++gpus) {
        if (gpus * order % cluster_.ranks_per_node != 0) continue;
        const auto found = move(nodes, gpus, order);
        if (found && commute(*found, gpu_move)) return *found;
      }
    }
    return {};
  }

  // Numbers the members of each orbit; false where something is left where it is by a move.
  bool split(Sort sort, Orbits& orbits) const;
  bool part();
  bool folds_in_order() const;
  bool connections_fold_in_order() const;
  bool copies_fold_in_order(const std::vector<std::int32_t>& home_places) const;

  const Fabric& fabric_;
  const Cluster& cluster_;
  const Placement& placement_;
  const Schedule& schedule_;
  const Wiring& wiring_;
  Symmetry found_;
};

bool SymmetryFinder::split(Sort sort, Orbits& orbits) const {
  const SymmetryMove& any = found_.any_move();
  const std::size_t count = (any.*sort).size();
  orbits.home.resize(count);
  orbits.copy.assign(count, -1);
  for (std::size_t i = 0; i < count; ++i) {
    if (orbits.copy[i] >= 0) continue;
    const auto home = static_cast<std::int32_t>(i);
    orbits.home[i] = home;
    orbits.copy[i] = 0;
    if ((any.*sort)[i] < 0) continue;
    for (int copy = 1; copy < found_.copies_.count(); ++copy) {
      const auto member = static_cast<std::size_t>(found_.moved(sort, home, copy));
      if (orbits.copy[member] >= 0) return false;
      orbits.home[member] = home;
      orbits.copy[member] = copy;
    }
  }
  return true;
}

// Ranks and links are counted as their resources are.
bool SymmetryFinder::part() {
  const bool free = split(&SymmetryMove::resources, found_.resources_) &&
                    split(&SymmetryMove::ranks, found_.ranks_) &&
                    split(&SymmetryMove::links, found_.links_) &&
                    split(&SymmetryMove::flows, found_.flows_) &&
                    split(&SymmetryMove::connections, found_.connections_) &&
                    split(&SymmetryMove::injectors, found_.injectors_);
  if (!free) return false;
  // The lowest link of an orbit may be of another copy than the lowest resource.
  for (std::size_t i = 0; i < fabric_.links().size(); ++i) {
    if (found_.any_move().links[i] < 0) continue;
    const auto link = static_cast<LinkId>(i);
    const int copy = Symmetry::at(found_.resources_.copy, fabric_.link(link).resource);
    found_.links_.copy[i] = copy;
    found_.links_.home[i] = found_.moved(&SymmetryMove::links, link, found_.copies_.minus(0, copy));
  }
  for (Rank rank = 0; rank < cluster_.ranks(); ++rank) {
    const int per_node = cluster_.ranks_per_node;
    const ResourceId resource = fabric_.reduce_resource(rank / per_node, rank % per_node);
    if (Symmetry::at(found_.resources_.copy, resource) != found_.copy(rank)) return false;
  }
  return folds_in_order();
}

// What one copy stands for must come in the order in which all come.
bool SymmetryFinder::folds_in_order() const {
  Rising on_links(fabric_.links().size());
  for (std::size_t i = 0; i < wiring_.flows.size(); ++i) {
    for (const RouteHop& hop : wiring_.flows[i].route) {
      if (Symmetry::at(found_.links_.copy, hop.link) != 0) continue;
      on_links.add(hop.link, found_.flows_.home[i]);
    }
  }
  if (!on_links.kept()) return false;
  return connections_fold_in_order();
}

bool SymmetryFinder::connections_fold_in_order() const {
  // The connection that stands for it: the one whose source is a home.
  const auto home_of = [&](std::size_t i) {
    const int copy = found_.copy(wiring_.connections[i].sent_as.source);
    return found_.moved(&SymmetryMove::connections, static_cast<std::int32_t>(i),
                        found_.copies_.minus(0, copy));
  };
  const auto ranks = static_cast<std::size_t>(cluster_.ranks());
  Rising at_sources(ranks);
  Rising at_destinations(ranks);
  std::vector<std::int32_t> home_places(2 * wiring_.connections.size());
  for (std::size_t i = 0; i < wiring_.connections.size(); ++i) {
    const WiredConnection& connection = wiring_.connections[i];
    const std::int32_t number = home_of(i);
    const WiredConnection& home = wiring_.connections[static_cast<std::size_t>(number)];
    const auto [channel, source, destination, stream] = connection.sent_as;
    if (found_.copy(source) == 0) at_sources.add(source, number);
    if (found_.copy(destination) == 0) at_destinations.add(destination, number);
    home_places[static_cast<std::size_t>(connection.data.place)] = home.data.place;
    home_places[static_cast<std::size_t>(connection.credit.place)] = home.credit.place;
  }
  Rising at_injectors(found_.injectors_.home.size());
  for (const Path* path : in_place_order(wiring_)) {
    if (path->injector < 0 || Symmetry::at(found_.injectors_.copy, path->injector) != 0) continue;
    at_injectors.add(path->injector, Symmetry::at(home_places, path->place));
  }
  if (!copies_fold_in_order(home_places)) return false;
  return at_sources.kept() && at_destinations.kept() && at_injectors.kept();
}

// At copy engines, by GPU: copies to host memory, and then those from there.
bool SymmetryFinder::copies_fold_in_order(const std::vector<std::int32_t>& home_places) const {
  const int gpus = cluster_.nodes * cluster_.node.gpu_count;
  Rising at_engines(2 * static_cast<std::size_t>(gpus));
  const auto is_home = [&](int gpu) { return found_.copy(cluster_.rank_of(gpu)) == 0; };
  for (const Path* path : in_place_order(wiring_)) {
    const std::int32_t place = Symmetry::at(home_places, path->place);
    if (path->staged_out && is_home(path->source_gpu)) at_engines.add(path->source_gpu, place);
    if (path->staged_in && is_home(path->destination_gpu)) {
      at_engines.add(gpus + path->destination_gpu, place);
    }
  }
  return at_engines.kept();
}

Symmetry find_symmetry(const Fabric& fabric, const Placement& placement, const Schedule& schedule,
                       const Wiring& wiring) {
  return SymmetryFinder(fabric, placement, schedule, wiring).find();
}

}  // namespace gradhaul

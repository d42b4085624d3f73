#pragma once

// Parts of a run that provably see the same, so that one is simulated for all.
//
// A symmetry moves every rank some nodes on, and perhaps some GPUs on within its node, such that
// each rank's schedule asks for the same as that of the rank it is moved to, in sizes, operations,
// peers and dependencies; each connection's flows become those of another connection, link by link,
// with the same framing, rates, latencies and windows; and what settles ties (the order of flows
// on a link, of connections at a rank and at a NIC, of channels at a rank) stays in order. No rank,
// no link in use and no resource stays where it is. Where all ranks start at once, whatever
// happens then happens in all copies at the same time: by induction over events, since each depends
// on what lies in its own copy, and on others only through what moves with it.
//
// Two generators: the first moves nodes (by as few as possible, perhaps GPUs too), the second GPUs
// within their nodes.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/schedule.h"
#include "sim/copies.h"
#include "sim/wiring.h"

namespace gradhaul {

// Where one move takes everything, by number; -1: it is not in use.
struct SymmetryMove {
  int order = 1;  // so many times, and all is where it was
  std::vector<Rank> ranks;
  std::vector<int> channels;
  std::vector<std::int32_t> connections;
  std::vector<FlowId> flows;
  std::vector<LinkId> links;
  std::vector<ResourceId> resources;
  std::vector<std::int32_t> injectors;
};

// Of everything of one sort: the one it is a copy of, and which copy of it.
struct Orbits {
  std::vector<std::int32_t> home;
  std::vector<int> copy;
};

class Symmetry {
 public:
  // None: each thing is its own only copy.
  Symmetry() = default;

  const Copies& copies() const { return copies_; }
  Rank home(Rank rank) const { return trivial() ? rank : at(ranks_.home, rank); }
  int copy(Rank rank) const { return trivial() ? 0 : at(ranks_.copy, rank); }
  LinkId home_link(LinkId link) const { return trivial() ? link : at(links_.home, link); }
  // What is known under this number (sim/copies.h), as seen from the home ranks.
  ResourceId resource(ResourceId seen) const;

 private:
  friend class SymmetryFinder;
  friend class WiringFolder;
  bool trivial() const { return copies_.count() == 1; }
  template <typename T>
  static T at(const std::vector<T>& values, std::int32_t index) {
    return values[static_cast<std::size_t>(index)];
  }
  // One that moves anything.
  const SymmetryMove& any_move() const { return first_.order > 1 ? first_ : second_; }
  std::int32_t moved(std::vector<std::int32_t> SymmetryMove::*sort, std::int32_t index,
                     int by) const;

  Copies copies_;
  SymmetryMove first_;
  SymmetryMove second_;
  Orbits ranks_;
  Orbits links_;
  Orbits resources_;
  Orbits flows_;
  Orbits connections_;
  Orbits injectors_;
};

// The move by so many nodes and GPUs, where it is a symmetry.
std::optional<SymmetryMove> symmetry_move(const Fabric& fabric, const Placement& placement,
                                          const Schedule& schedule, const Wiring& wiring, int nodes,
                                          int gpus);
// With as many copies as are found; none where there are not at least two.
Symmetry find_symmetry(const Fabric& fabric, const Placement& placement, const Schedule& schedule,
                       const Wiring& wiring);
// What is left to wire: the home ranks, each peer's home in its place.
Wiring fold(const Wiring& wiring, const Symmetry& symmetry, const Cluster& cluster);

}  // namespace gradhaul

#pragma once

// How many switches a network has, which NIC hangs at which of them, and which way static routing
// takes. All switches have the same number of ports, all links the same rate.
//
//  - back_to_back: exactly two nodes, NIC j of one cabled to NIC j of the other. No switch.
//  - single_switch: all NICs at leaf 0.
//  - leaf_spine: all NICs of a node at one leaf; nodes in order, as nearly equally many at each
//  leaf
//    as can be, earlier leaves taking what is left over. As few leaves as have ports for the nodes
//    and for the uplinks these ask for; if that is one, it has no uplinks after all.
//  - rail_optimized: NIC i of every node at a leaf of rail i. A rail has as few leaves as its nodes
//    need, nodes shared out as above; leaf = i x (leaves of a rail) + (leaf within the rail).
//  - ring: leaves and nodes as of leaf_spine, but at least three leaves. An even number of uplinks,
//    half of them to each of the two leaves beside it. Which way round data goes:
//    core/leaf_ring.h.
//
// A leaf has ceil(downlinks / oversubscription) uplinks, the same for every leaf, counted from the
// fullest. Spines are as few as there can be with the uplinks of a leaf spread evenly over them and
// a spine's ports sufficing for all leaves. Infinite oversubscription means no uplinks: leaves, or
// rails of one leaf each, that do not meet.
//
// Static routing is by destination, as InfiniBand's is: a leaf sends what is for another leaf up by
// uplink j mod (uplinks), where the destination is the j-th NIC of its own leaf in the order of
// (node, NIC). So destinations of a leaf use all cables evenly, up and down (D-mod-K: Zahavi,
// "D-Mod-K routing providing non-blocking traffic for shift permutations on real life fat trees",
// 2010). Uplink u is cable u / spines of those to spine u mod spines; down from there by the same
// cable. On a ring j mod (cables to a neighbour) is the cable from each leaf to the next.

#include <string>
#include <vector>

#include "core/cluster.h"

namespace gradhaul {

struct SizedTopology {
  Topology topology;                // leaves, spines and uplinks filled in
  std::vector<std::string> errors;  // what cannot be, and what would be right; else empty
};

// Values already given are kept and checked: enough of them, spread evenly, and no fewer uplinks
// than the oversubscription asks for. Any counts of nodes and NICs from 0.
SizedTopology size_topology(const Network& network, int nodes, int nics_per_node);

// All of the following require a topology sized without errors for these nodes and NICs.

// The leaf at which a NIC hangs; -1: back to back.
int leaf_of(const Topology& topology, int nodes, int nics_per_node, int node, int nic);
// The spine, and the cable between it and either leaf, by which data for this NIC goes if it comes
// from another leaf. Requires spines.
int spine_of(const Topology& topology, int nodes, int nics_per_node, int node, int nic);
int cable_of(const Topology& topology, int nodes, int nics_per_node, int node, int nic);
// Cables between one leaf and one spine.
int cables_per_spine(const Topology& topology);
// Of a ring, between two leaves that are neighbours; by which of them data for this NIC goes.
int cables_per_neighbour(const Topology& topology);
int ring_cable_of(const Topology& topology, int nodes, int nics_per_node, int node, int nic);
// How many cables data crosses from one leaf to another. Requires that they reach each other.
int cables_between(const Topology& topology, int from_leaf, int to_leaf);
// Whether any NIC reaches any NIC of another node; else each reaches only those of its own index.
bool rails_meet(const Topology& topology);

}  // namespace gradhaul

// Ways over rings of leaves: their lengths, and those of up_down against a search of all ways that
// never lead towards the root again.

#include "core/leaf_ring.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "core/cluster_parts.h"
#include "core/topology_size.h"

namespace gradhaul {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Of one cable: whether it leads towards leaf 0, or where both ends are as far, to the lower one.
bool leads_up(int leaves, int from, int to) {
  const auto distance = [leaves](int leaf) { return std::min(leaf, leaves - leaf); };
  return std::pair(distance(to), to) < std::pair(distance(from), from);
}

// By breadth first search over (leaf, whether it has led away already).
int fewest_cables(int leaves, int from, int to) {
  std::map<std::pair<int, bool>, int> reached{{{from, false}, 0}};
  std::deque<std::pair<int, bool>> open{{from, false}};
  while (!open.empty()) {
    const auto [leaf, away] = open.front();
    open.pop_front();
    const int cables = reached.at({leaf, away});
    if (leaf == to) return cables;
    for (const int next : {(leaf + 1) % leaves, (leaf + leaves - 1) % leaves}) {
      const bool up = leads_up(leaves, leaf, next);
      if (up && away) continue;
      if (reached.try_emplace({next, !up}, cables + 1).second) open.emplace_back(next, !up);
    }
  }
  return -1;
}

TEST(LeafRing, UpDownTakesTheShortestWayThatNeverTurnsUpAgain) {
  for (int leaves = 3; leaves <= 16; ++leaves) {
    for (int from = 0; from < leaves; ++from) {
      for (int to = 0; to < leaves; ++to) {
        const auto way = leaves_on_way(RingWay::kUpDown, leaves, from, to);
        ASSERT_EQ(static_cast<int>(way.size()) - 1, fewest_cables(leaves, from, to))
            << from << " to " << to << " of " << leaves;
        bool away = false;
        for (std::size_t i = 0; i + 1 < way.size(); ++i) {
          const bool up = leads_up(leaves, way[i], way[i + 1]);
          EXPECT_FALSE(up && away) << from << " to " << to << " of " << leaves;
          away = away || !up;
        }
      }
    }
  }
}

TEST(LeafRing, ShortestAndClockwiseAreWhatTheySay) {
  for (int leaves = 3; leaves <= 9; ++leaves) {
    for (int to = 0; to < leaves; ++to) {
      const auto cables = [&](RingWay way) {
        return static_cast<int>(leaves_on_way(way, leaves, 0, to).size()) - 1;
      };
      EXPECT_EQ(cables(RingWay::kShortest), std::min(to, leaves - to));
      EXPECT_EQ(cables(RingWay::kClockwise), to);
    }
  }
  EXPECT_THAT(leaves_on_way(RingWay::kShortest, 5, 4, 1), ElementsAre(4, 0, 1));
  EXPECT_THAT(leaves_on_way(RingWay::kShortest, 5, 1, 4), ElementsAre(1, 0, 4));
  EXPECT_THAT(leaves_on_way(RingWay::kClockwise, 5, 1, 0), ElementsAre(1, 2, 3, 4, 0));
  // As far either way.
  EXPECT_THAT(leaves_on_way(RingWay::kShortest, 4, 3, 1), ElementsAre(3, 0, 1));
  EXPECT_THAT(leaves_on_way(RingWay::kUpDown, 4, 1, 3), ElementsAre(1, 0, 3));
}

Network ring_of(int leaves, int ports, double oversubscription = 1) {
  Network network;
  network.topology.kind = TopologyKind::kRing;
  network.topology.switch_ports = ports;
  network.topology.leaves = leaves;
  network.oversubscription = oversubscription;
  return network;
}

TEST(LeafRing, HasHalfOfALeafsUplinksToEachNeighbour) {
  const SizedTopology sized = size_topology(ring_of(5, 64), 10, 4);
  EXPECT_THAT(sized.errors, IsEmpty());
  EXPECT_EQ(sized.topology.leaves, 5);
  EXPECT_EQ(sized.topology.spines, 0);
  EXPECT_EQ(sized.topology.uplinks_per_leaf, 8);
  EXPECT_EQ(cables_per_neighbour(sized.topology), 4);
  EXPECT_EQ(leaf_of(sized.topology, 10, 4, 7, 2), 3);
  EXPECT_EQ(ring_cable_of(sized.topology, 10, 4, 7, 2), (1 * 4 + 2) % 4);
  EXPECT_EQ(cables_between(sized.topology, 4, 1), 2);
  EXPECT_TRUE(rails_meet(sized.topology));
  // Three downlinks ask for three uplinks, which makes two to each.
  EXPECT_EQ(size_topology(ring_of(3, 64), 9, 1).topology.uplinks_per_leaf, 4);
  EXPECT_EQ(size_topology(ring_of(3, 64, 3), 9, 1).topology.uplinks_per_leaf, 2);
  // As few leaves as hold the nodes: 4 of them and 4 uplinks fill 8 ports; but three at the least.
  EXPECT_EQ(size_topology(ring_of(0, 8), 20, 1).topology.leaves, 5);
  EXPECT_EQ(size_topology(ring_of(0, 64), 4, 1).topology.leaves, 3);
}

TEST(LeafRing, TellsWhatCannotBe) {
  EXPECT_THAT(size_topology(ring_of(2, 64), 4, 1).errors,
              ElementsAre("ring has at least 3 leaves, not 2"));
  EXPECT_THAT(size_topology(ring_of(4, 3), 8, 1).errors,
              ElementsAre("switch_ports 3 are too few for 2 downlinks and 2 uplinks of a leaf"));
  Network odd = ring_of(4, 64);
  odd.topology.uplinks_per_leaf = 3;
  EXPECT_THAT(
      size_topology(odd, 4, 1).errors,
      ElementsAre("uplinks_per_leaf 3 do not spread evenly over the 2 neighbours of a leaf"));
  Network spines = ring_of(4, 64);
  spines.topology.spines = 2;
  EXPECT_THAT(size_topology(spines, 4, 1).errors, ElementsAre("ring has no spines, but 2 given"));
}

TEST(LeafRing, NamesItsLinksByTheLeavesTheyJoin) {
  Cluster cluster;
  cluster.nodes = 4;
  cluster.network = ring_of(4, 64);
  cluster.network.link = BitRate{100'000'000'000};
  cluster.network.topology = size_topology(cluster.network, 4, 1).topology;
  for (const char* name : {"leaf0-leaf1", "leaf2-leaf3", "leaf3-leaf0"}) {
    const auto part = find_part(cluster, name);
    ASSERT_TRUE(part) << name;
    EXPECT_EQ(part->rate, cluster.network.link);
  }
  for (const char* name : {"leaf1-leaf0", "leaf0-leaf2", "leaf3-leaf4", "leaf0-spine0", "leaf0"}) {
    EXPECT_FALSE(find_part(cluster, name)) << name;
  }
}

}  // namespace
}  // namespace gradhaul

#include "sim/fabric.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/topology_size.h"
#include "tests/sim/cluster_examples.h"
#include "tests/sim/draws.h"
#include "tests/sim/path_oracle.h"
#include "tests/sim/random_nodes.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)
using Names = std::vector<std::string>;

Names names_of(const Fabric& fabric, const Route& route) {
  Names names;
  for (const RouteHop& hop : route) names.push_back(fabric.link(hop.link).name);
  return names;
}

const Link& link_named(const Fabric& fabric, const std::string& name) {
  for (const Link& link : fabric.links()) {
    if (link.name == name) return link;
  }
  ADD_FAILURE() << "no link " << name;
  return fabric.links().front();
}

std::int64_t window(const Link& link, TrafficClass c) { return link.window[static_cast<int>(c)]; }

// Two sockets. Socket 0: sw0 {gpu0, nic0}, sw1 {gpu1}, and below sw0 a switch sw2 {gpu2}. Socket 1:
// nic1 straight at it, sw3 {gpu3}.
Node tree_node() {
  Node node;
  node.gpu_count = 4;
  node.nic_count = 2;
  node.sockets = 2;
  node.gpu.pcie = PcieLink{5, 16};
  node.nic.pcie = PcieLink{5, 16};
  node.pcie = {{"sw0", "socket0", PcieLink{5, 16}, {"gpu0", "nic0"}},
               {"sw1", "socket0", PcieLink{4, 16}, {"gpu1"}},
               {"sw2", "sw0", PcieLink{5, 8}, {"gpu2"}},
               {"", "socket1", PcieLink{4, 8}, {"nic1"}},
               {"sw3", "socket1", PcieLink{5, 16}, {"gpu3"}}};
  return node;
}

Cluster tree_cluster() {
  Cluster cluster;
  cluster.node = tree_node();
  cluster.ranks_per_node = 4;
  return cluster;
}

TEST(FabricRoutes, StayBelowTheSwitchThatBothShare) {
  const Fabric fabric(tree_cluster());
  EXPECT_EQ(names_of(fabric, fabric.dma_write(0, 0, 0)),
            (Names{"node0.nic0.pcie.up", "node0.gpu0.pcie.down"}));
  EXPECT_EQ(names_of(fabric, fabric.dma_completion(0, 0, 0)),
            (Names{"node0.gpu0.pcie.up", "node0.nic0.pcie.down"}));
  EXPECT_EQ(names_of(fabric, fabric.dma_request(0, 0, 0)),
            (Names{"node0.nic0.pcie.up", "node0.gpu0.pcie.down"}));
}

TEST(FabricRoutes, PassNestedSwitchesOneByOne) {
  const Fabric fabric(tree_cluster());
  EXPECT_EQ(names_of(fabric, fabric.dma_write(0, 0, 2)),
            (Names{"node0.nic0.pcie.up", "node0.sw2.down", "node0.gpu2.pcie.down"}));
  EXPECT_EQ(names_of(fabric, fabric.dma_completion(0, 0, 2)),
            (Names{"node0.gpu2.pcie.up", "node0.sw2.up", "node0.nic0.pcie.down"}));
  EXPECT_EQ(names_of(fabric, fabric.peer(0, 2, 1)),
            (Names{"node0.gpu2.pcie.up", "node0.sw2.up", "node0.sw0.up", "node0.sw1.down",
                   "node0.gpu1.pcie.down"}));
}

TEST(FabricRoutes, MeetInTheRootComplexOfTheirSocket) {
  Cluster cluster = tree_cluster();
  const Fabric fabric(cluster);
  EXPECT_EQ(
      names_of(fabric, fabric.dma_write(0, 0, 1)),
      (Names{"node0.nic0.pcie.up", "node0.sw0.up", "node0.sw1.down", "node0.gpu1.pcie.down"}));
  EXPECT_EQ(names_of(fabric, fabric.dma_write(0, 1, 3)),
            (Names{"node0.nic1.pcie.up", "node0.sw3.down", "node0.gpu3.pcie.down"}));
  // With limits, a link of its own stands in the way of data, by what the transfer is.
  cluster.node.root_complex.peer_to_peer_read = 20_GBps;
  cluster.node.root_complex.peer_to_peer_write = 25_GBps;
  const Fabric limited(cluster);
  EXPECT_EQ(names_of(limited, limited.dma_write(0, 0, 1)),
            (Names{"node0.nic0.pcie.up", "node0.sw0.up", "node0.socket0.peer_write",
                   "node0.sw1.down", "node0.gpu1.pcie.down"}));
  EXPECT_EQ(names_of(limited, limited.dma_completion(0, 0, 1)),
            (Names{"node0.gpu1.pcie.up", "node0.sw1.up", "node0.socket0.peer_read",
                   "node0.sw0.down", "node0.nic0.pcie.down"}));
  EXPECT_EQ(
      names_of(limited, limited.dma_request(0, 0, 1)),
      (Names{"node0.nic0.pcie.up", "node0.sw0.up", "node0.sw1.down", "node0.gpu1.pcie.down"}));
  EXPECT_EQ(link_named(limited, "node0.socket0.peer_read").rate, 20_GBps);
  EXPECT_EQ(link_named(limited, "node0.socket0.peer_write").rate, 25_GBps);
}

TEST(FabricRoutes, CrossTheSocketLinkInTheirOwnDirection) {
  Cluster cluster = tree_cluster();
  cluster.node.socket_link = {62_GBps, 100_ns};
  cluster.node.root_complex.peer_to_peer_across_sockets = 10_GBps;
  const Fabric fabric(cluster);
  EXPECT_EQ(names_of(fabric, fabric.dma_write(0, 1, 0)),
            (Names{"node0.nic1.pcie.up", "node0.socket_link.1-0", "node0.socket_link.peer.1-0",
                   "node0.sw0.down", "node0.gpu0.pcie.down"}));
  EXPECT_EQ(names_of(fabric, fabric.dma_completion(0, 1, 0)),
            (Names{"node0.gpu0.pcie.up", "node0.sw0.up", "node0.socket_link.0-1",
                   "node0.socket_link.peer.0-1", "node0.nic1.pcie.down"}));
  EXPECT_EQ(names_of(fabric, fabric.dma_request(0, 1, 0)),
            (Names{"node0.nic1.pcie.up", "node0.socket_link.1-0", "node0.sw0.down",
                   "node0.gpu0.pcie.down"}));
  EXPECT_EQ(link_named(fabric, "node0.socket_link.0-1").rate, 62_GBps);
  EXPECT_EQ(link_named(fabric, "node0.socket_link.0-1").latency, 100_ns);
  EXPECT_EQ(link_named(fabric, "node0.socket_link.peer.0-1").rate, 10_GBps);
}

TEST(FabricRoutes, AreEmptyWithoutPcie) {
  const Fabric fabric(ideal_cluster(2));
  EXPECT_TRUE(fabric.dma_write(0, 0, 0).empty());
  EXPECT_TRUE(fabric.dma_completion(1, 0, 0).empty());
  EXPECT_TRUE(fabric.dma_request(1, 0, 0).empty());
}

TEST(FabricRoutes, PeersUseNvlinkWhereThereIsOne) {
  Cluster cluster = tree_cluster();
  cluster.node.nvlink = Nvlink{450_GBps, 0.824, 700_ns};
  const Fabric fabric(cluster);
  EXPECT_EQ(names_of(fabric, fabric.peer(0, 3, 1)),
            (Names{"node0.gpu3.nvlink.out", "node0.gpu1.nvlink.in"}));
  const Link& out = link_named(fabric, "node0.gpu3.nvlink.out");
  EXPECT_EQ(out.rate.bits_per_second, 450LL * 8 * 824'000'000);
  EXPECT_EQ(out.latency, 700_ns);
  EXPECT_EQ(link_named(fabric, "node0.gpu1.nvlink.in").latency, 0_ns);
  for (const RouteHop& hop : fabric.peer(0, 3, 1))
    EXPECT_EQ(hop.overhead.count + hop.unit.count, 0);
}

Names expected_names(const Node& node, const std::string& from, const std::string& to,
                     const std::string& limit) {
  const oracle::PciePath path = oracle::pcie_path(node, from, to);
  Names names;
  for (const std::string& element : path.up) names.push_back(oracle::uplink(element) + ".up");
  const bool data = !limit.empty();
  if (!path.root.empty() && data) names.push_back(path.root + limit);
  if (!path.far_root.empty()) {
    const std::string pair = path.root.substr(6) + "-" + path.far_root.substr(6);
    names.push_back("socket_link." + pair);
    if (data) names.push_back("socket_link.peer." + pair);
  }
  for (const std::string& element : path.down) names.push_back(oracle::uplink(element) + ".down");
  for (std::string& name : names) name.insert(0, "node0.");
  return names;
}

TEST(FabricRoutes, AgreeWithAWalkOfRandomTrees) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Draws draws(seed);
    Cluster cluster;
    cluster.node = random_node(draws);
    cluster.ranks_per_node = cluster.node.gpu_count;
    const Fabric fabric(cluster);
    for (int g = 0; g < cluster.node.gpu_count; ++g) {
      const std::string gpu = "gpu" + std::to_string(g);
      for (int n = 0; n < cluster.node.nic_count; ++n) {
        const std::string nic = "nic" + std::to_string(n);
        ASSERT_EQ(names_of(fabric, fabric.dma_write(0, n, g)),
                  expected_names(cluster.node, nic, gpu, ".peer_write"))
            << seed;
        ASSERT_EQ(names_of(fabric, fabric.dma_completion(0, n, g)),
                  expected_names(cluster.node, gpu, nic, ".peer_read"))
            << seed;
        ASSERT_EQ(names_of(fabric, fabric.dma_request(0, n, g)),
                  expected_names(cluster.node, nic, gpu, ""))
            << seed;
      }
      for (int other = 0; other < cluster.node.gpu_count; ++other) {
        if (other == g) continue;
        ASSERT_EQ(names_of(fabric, fabric.peer(0, g, other)),
                  expected_names(cluster.node, gpu, "gpu" + std::to_string(other), ".peer_write"))
            << seed;
      }
    }
  }
}

TEST(FabricLinks, AreNumberedInTheOrderOfTheirNames) {
  Cluster cluster = one_switch(hgx_h100(), 11, 400_Gbps);
  const Fabric fabric(cluster);
  EXPECT_TRUE(std::is_sorted(fabric.links().begin(), fabric.links().end(),
                             [](const Link& a, const Link& b) { return a.name < b.name; }));
  // However the switches are listed.
  Cluster turned = cluster;
  std::reverse(turned.node.pcie.begin(), turned.node.pcie.end());
  const Fabric other(turned);
  ASSERT_EQ(other.links().size(), fabric.links().size());
  for (std::size_t i = 0; i < fabric.links().size(); ++i) {
    EXPECT_EQ(other.links()[i].name, fabric.links()[i].name);
    EXPECT_EQ(other.links()[i].rate, fabric.links()[i].rate);
  }
}

TEST(FabricLinks, CarryTheCreditsOfWhatTheyLeadInto) {
  Cluster cluster = tree_cluster();
  cluster.node.root_complex.latency = 300_ns;
  PcieSettings& settings = cluster.node.pcie_settings;
  settings.max_payload = {256};
  settings.posted_header_credits = 32;
  settings.posted_data_credits = 320;  // of 16 bytes: 20 TLPs of 256
  settings.credit_loop = 250_ns;
  const Fabric fabric(cluster);
  const Link& to_switch = link_named(fabric, "node0.gpu0.pcie.up");
  EXPECT_EQ(window(to_switch, TrafficClass::kPosted), 20);
  EXPECT_EQ(window(to_switch, TrafficClass::kCompletion), 20);
  EXPECT_EQ(window(to_switch, TrafficClass::kNonPosted), 72);
  EXPECT_EQ(to_switch.credit_return, 250_ns);
  EXPECT_EQ(to_switch.latency, 125_ns);  // wire and switch
  // Root complexes and endpoints take all completions there may be.
  const Link& to_socket = link_named(fabric, "node0.sw1.up");
  EXPECT_EQ(window(to_socket, TrafficClass::kPosted), 20);
  EXPECT_EQ(window(to_socket, TrafficClass::kCompletion), 0);
  EXPECT_EQ(to_socket.latency, 320_ns);
  const Link& to_device = link_named(fabric, "node0.nic0.pcie.down");
  EXPECT_EQ(window(to_device, TrafficClass::kPosted), 20);
  EXPECT_EQ(window(to_device, TrafficClass::kCompletion), 0);
  EXPECT_EQ(to_device.latency, 20_ns);
  settings.posted_header_credits = 7;
  EXPECT_EQ(window(link_named(Fabric(cluster), "node0.gpu0.pcie.up"), TrafficClass::kPosted), 7);
}

// Gen5 x16: 504.123 Gb/s; half as many lanes, half; a device at a socket is capped by the branch.
TEST(FabricLinks, HaveTheRatesOfTheirGenerationAndWidth) {
  Cluster cluster = tree_cluster();
  cluster.node.pcie_settings.dllp_overhead = 0.03;
  const Fabric fabric(cluster);
  const auto bytes = [&](const std::string& name) {
    return static_cast<double>(link_named(fabric, name).rate.bits_per_second) / 8;
  };
  const auto expect = [&](const std::string& name, PcieLink width) {
    const double expected = oracle::pcie_bytes(width, 0.03);
    EXPECT_NEAR(bytes(name), expected, expected * 1e-5) << name;
  };
  expect("node0.gpu0.pcie.up", {5, 16});
  expect("node0.sw1.down", {4, 16});
  expect("node0.sw2.up", {5, 8});
  expect("node0.nic1.pcie.up", {4, 8});
  EXPECT_NEAR(oracle::pcie_bytes({4, 16}, 0) * 8e-9, 252.06, 0.005);
}

TEST(FabricRoutes, FrameEachHop) {
  Cluster cluster = tree_cluster();
  cluster.node.pcie_settings.max_payload = {256};
  cluster.node.root_complex.tlp_split = Bytes{64};
  const Fabric fabric(cluster);
  const auto framing = [&](const Route& route) {
    std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
    for (const RouteHop& hop : route) pairs.emplace_back(hop.unit.count, hop.overhead.count);
    return pairs;
  };
  using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;
  EXPECT_EQ(framing(fabric.dma_write(0, 0, 0)), (Pairs{{256, 24}, {256, 24}}));
  EXPECT_EQ(framing(fabric.dma_completion(0, 0, 0)), (Pairs{{256, 20}, {256, 20}}));
  EXPECT_EQ(framing(fabric.dma_request(0, 0, 0)), (Pairs{{0, 24}, {0, 24}}));
  // The root complex splits what it passes on, and only that.
  EXPECT_EQ(framing(fabric.dma_write(0, 0, 1)), (Pairs{{256, 24}, {256, 24}, {64, 24}, {64, 24}}));
  EXPECT_EQ(framing(fabric.dma_completion(0, 0, 1)),
            (Pairs{{256, 20}, {256, 20}, {64, 20}, {64, 20}}));
  EXPECT_EQ(framing(fabric.dma_request(0, 0, 1)), (Pairs{{0, 24}, {0, 24}, {0, 24}, {0, 24}}));
  cluster.nodes = 2;
  cluster.network.topology.leaves = 1;
  const Fabric wired(cluster);
  EXPECT_EQ(framing(wired.wire(0, 0, 1, 1)), (Pairs{{0, 26}, {0, 26}}));
}

TEST(FabricWires, HaveCreditsAndLatenciesOfInfiniband) {
  Cluster cluster = bare_pair(5, 400_Gbps, {4096});
  cluster.network.topology.kind = TopologyKind::kSingleSwitch;
  cluster.network.topology.leaves = 1;
  cluster.network.node_cable_metres = 198;  // 1 us at 1.98e8 m/s
  cluster.network.switch_latency = 200_ns;
  cluster.network.credit_return = 300_ns;
  cluster.network.vl_buffer = {100'000};
  cluster.node.nic.rate = 200_Gbps;  // the slower of the two counts
  const Fabric fabric(cluster);
  const Link& out = link_named(fabric, "node1.nic0.out");
  EXPECT_EQ(out.rate, 200_Gbps);
  EXPECT_EQ(out.latency, 1'200_ns);
  EXPECT_EQ(out.credit_return, 1'300_ns);
  EXPECT_EQ(window(out, TrafficClass::kPosted), 1562);  // 100000 / 64
  const Link& in = link_named(fabric, "node1.nic0.in");
  EXPECT_EQ(in.latency, 1'000_ns);
  EXPECT_EQ(in.credit_return, 1'300_ns);
  // No lane advertises more than 2048 blocks.
  cluster.network.vl_buffer = {10'000'000};
  const Fabric wide(cluster);
  EXPECT_EQ(window(link_named(wide, "node1.nic0.in"), TrafficClass::kPosted), 2048);
}

TEST(FabricWires, GoStraightBackToBackAndMeetOnlyTheirOwn) {
  Cluster cluster = bare_pair(5, 400_Gbps, {4096});
  cluster.node = bare_node(2, 5);
  const Fabric fabric(cluster);
  EXPECT_EQ(names_of(fabric, fabric.wire(1, 1, 0, 1)), (Names{"node1.nic1.out"}));
  EXPECT_TRUE(fabric.wire(1, 1, 0, 0).empty());
}

Cluster four_nodes(TopologyKind kind, int leaves, int spines, int uplinks) {
  Cluster cluster;
  cluster.nodes = 4;
  cluster.node = bare_node(2, 5);
  cluster.ranks_per_node = 2;
  cluster.network.topology = {kind, 64, leaves, spines, uplinks};
  return cluster;
}

// Leaves of two nodes of two NICs each; what is for the j-th NIC of a leaf goes by uplink j mod 4,
// which is cable u / spines to spine u mod spines.
TEST(FabricWires, OfLeafAndSpineFollowTheDestination) {
  const Fabric fabric(four_nodes(TopologyKind::kLeafSpine, 2, 2, 4));
  EXPECT_EQ(names_of(fabric, fabric.wire(0, 0, 1, 1)), (Names{"node0.nic0.out", "node1.nic1.in"}));
  const Names spines_and_cables = {"spine0.0", "spine1.0", "spine0.1", "spine1.1"};
  for (int node = 2; node < 4; ++node) {
    for (int nic = 0; nic < 2; ++nic) {
      const std::string& by = spines_and_cables[static_cast<std::size_t>((node - 2) * 2 + nic)];
      const std::string to = "node" + std::to_string(node) + ".nic" + std::to_string(nic);
      EXPECT_EQ(
          names_of(fabric, fabric.wire(1, 0, node, nic)),
          (Names{"node1.nic0.out", "leaf0-" + by + ".up", "leaf1-" + by + ".down", to + ".in"}));
    }
  }
  EXPECT_EQ(names_of(fabric, fabric.wire(3, 1, 0, 1)),
            (Names{"node3.nic1.out", "leaf1-spine1.0.up", "leaf0-spine1.0.down", "node0.nic1.in"}));
  EXPECT_EQ(
      fabric
          .resources()[static_cast<std::size_t>(link_named(fabric, "leaf0-spine1.1.down").resource)]
          .name,
      "leaf0-spine1");
}

TEST(FabricWires, OfRailsStayOnTheirLeaf) {
  const Fabric joined(four_nodes(TopologyKind::kRailOptimized, 2, 1, 4));
  EXPECT_EQ(names_of(joined, joined.wire(0, 1, 3, 1)), (Names{"node0.nic1.out", "node3.nic1.in"}));
  // From rail to rail over the spine, by the uplink of the destination's place in its leaf.
  EXPECT_EQ(names_of(joined, joined.wire(0, 0, 3, 1)),
            (Names{"node0.nic0.out", "leaf0-spine0.3.up", "leaf1-spine0.3.down", "node3.nic1.in"}));
  const Fabric apart(four_nodes(TopologyKind::kRailOptimized, 2, 0, 0));
  EXPECT_EQ(names_of(apart, apart.wire(0, 1, 3, 1)), (Names{"node0.nic1.out", "node3.nic1.in"}));
  EXPECT_TRUE(apart.wire(0, 0, 3, 1).empty());
}

// Ports as a user counts them: the switch's end of a wire, from 1.
TEST(FabricWires, NamePortsByWhoSends) {
  const Fabric fabric(four_nodes(TopologyKind::kLeafSpine, 2, 2, 4));
  EXPECT_EQ(link_named(fabric, "node0.nic1.out").port, "node0.nic1");
  EXPECT_EQ(link_named(fabric, "node0.nic0.in").port, "leaf0:1");
  EXPECT_EQ(link_named(fabric, "node1.nic1.in").port, "leaf0:4");
  EXPECT_EQ(link_named(fabric, "node2.nic0.in").port, "leaf1:1");
  EXPECT_EQ(link_named(fabric, "leaf0-spine0.0.up").port, "leaf0:5");
  EXPECT_EQ(link_named(fabric, "leaf1-spine1.1.up").port, "leaf1:8");
  EXPECT_EQ(link_named(fabric, "leaf1-spine0.1.down").port, "spine0:4");
}

}  // namespace
}  // namespace gradhaul

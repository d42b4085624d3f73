// What several hops share: a link that the rings of C channels cross m times in one direction holds
// busbw to U C / m, where U is what it carries of payload. How often, is counted here by a walk of
// the rings over the PCIe tree that knows nothing of the simulator's fabric.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/busbw.h"
#include "core/placement.h"
#include "sim/predict.h"
#include "tests/sim/cluster_examples.h"
#include "tests/sim/draws.h"
#include "tests/sim/path_oracle.h"
#include "tests/sim/random_nodes.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

// What a link of this name carries, bytes a second with headers.
double capacity(const Cluster& cluster, const std::string& link) {
  const Node& node = cluster.node;
  const auto bytes = [](BitRate rate) {
    return rate.unlimited() ? 1e18 : static_cast<double>(rate.bits_per_second) / 8;
  };
  const auto has = [&](const char* part) { return link.find(part) != std::string::npos; };
  if (has(".nvlink.")) return bytes(node.nvlink->bandwidth) * node.nvlink->efficiency;
  if (has(".peer_read")) return bytes(node.root_complex.peer_to_peer_read);
  if (has(".peer_write")) return bytes(node.root_complex.peer_to_peer_write);
  if (has("socket_link.peer")) return bytes(node.root_complex.peer_to_peer_across_sockets);
  if (has("socket_link")) return bytes(node.socket_link.bandwidth);
  if (has("leaf")) return bytes(cluster.network.link);
  if (has(".out") || has(".in")) return bytes(std::min(node.nic.rate, cluster.network.link));
  for (const PcieBranch& branch : node.pcie) {
    if (!branch.switch_name.empty() && has(("." + branch.switch_name + ".").c_str())) {
      return oracle::pcie_bytes(*branch.link, node.pcie_settings.dllp_overhead);
    }
    // Straight at a socket, the branch caps the device's own link.
    for (const std::string& device : branch.devices) {
      if (!has(("." + device + ".").c_str())) continue;
      const PcieLink own = has("gpu") ? *node.gpu.pcie : *node.nic.pcie;
      const double rate = oracle::pcie_bytes(own, node.pcie_settings.dllp_overhead);
      if (!branch.switch_name.empty() || !branch.link) return rate;
      return std::min(rate, oracle::pcie_bytes(*branch.link, node.pcie_settings.dllp_overhead));
    }
  }
  ADD_FAILURE() << link;
  return 0;
}

// What a user calls it: both directions of a wire, an uplink or a root complex are one.
std::string resource_of(std::string link) {
  if (link.find(".socket_link") != std::string::npos)
    return link.substr(0, link.find('.')) + ".socket_link";
  if (link.find("-spine") != std::string::npos) return link.substr(0, link.find('.'));
  return link.substr(0, link.rfind('.'));
}

struct Narrow {
  double bound = 1e18;  // of busbw
  std::string resource;
  int crossings = 0;
};

// The narrowest link of the first node, or of the whole network.
Narrow narrowest(const PredictionRequest& request) {
  const Cluster& cluster = request.cluster;
  const Placement placement = place(cluster, request.communication, Collective::kAllReduce);
  oracle::LoadWalk walk(cluster);
  walk.add_rings(placement);
  Narrow narrow;
  for (const auto& [link, wire] : walk.loads()) {
    const double bound = capacity(cluster, link) * placement.channels / wire;
    if (bound >= narrow.bound) continue;
    const auto crossings = walk.crossings().find(link);
    narrow = {bound, resource_of(link),
              crossings == walk.crossings().end() ? 0 : crossings->second};
  }
  return narrow;
}

struct Outcome {
  double busbw = 0;
  std::string limited_by;
};

Outcome run(const PredictionRequest& request) {
  const ResultRow row = predict(request).rows.at(0);
  return {busbw(row.collective, row.ranks, row.size, row.time), row.limited_by};
}

// Held to the bound, and close to it; returns it.
double expect_held(const PredictionRequest& request, const std::string& resource, int crossings) {
  const Narrow narrow = narrowest(request);
  EXPECT_EQ(narrow.resource, resource);
  EXPECT_EQ(narrow.crossings, crossings);
  const Outcome outcome = run(request);
  EXPECT_LE(outcome.busbw, narrow.bound) << resource;
  EXPECT_GE(outcome.busbw, 0.9 * narrow.bound) << resource;
  EXPECT_TRUE(outcome.limited_by == resource || outcome.limited_by.starts_with(resource + " ("))
      << outcome.limited_by << " is not " << resource;
  return narrow.bound;
}

// The same without what was shared: clearly above.
void expect_free(const PredictionRequest& request, double bound) {
  EXPECT_GE(run(request).busbw, 1.3 * bound);
}

// Two nodes over one switch, on PCIe 4, with latencies as devices have them.
PredictionRequest request_over(Node node, BitRate network, int channels, Bytes size) {
  give_latencies(node);
  node.gpu.kernel_launch = {};
  PredictionRequest request = request_for(one_switch(node, 2, network), size);
  request.communication.channels = channels;
  return request;
}

Node node_of(int gpus, int nics, std::vector<PcieBranch> pcie) {
  Node node = bare_node(1, 4);
  node.gpu_count = gpus;
  node.nic_count = nics;
  node.pcie = std::move(pcie);
  return node;
}

const PcieLink kGen3{3, 16};
const PcieLink kGen4{4, 16};
const Nvlink kNvlink{300_GBps, 0.8, 700_ns};

TEST(SharedNic, TwoGpusBehindOneSwitch) {
  Node node = node_of(2, 1, {{"sw0", "socket0", kGen4, {"gpu0", "gpu1", "nic0"}}});
  node.nvlink = kNvlink;
  PredictionRequest request = request_over(node, 200_Gbps, 2, {24'000'000});
  // Each of two rings leaves the node once.
  const double bound = expect_held(request, "node0.nic0", 2);
  EXPECT_NEAR(bound, 25e9 * 4096 / 4122, 1e6);
  node.nic_count = 2;
  node.pcie[0].devices.push_back("nic1");
  expect_free(request_over(node, 200_Gbps, 2, {24'000'000}), bound);
}

TEST(SharedNic, FourGpusAndOneNicANode) {
  Node node = node_of(4, 1,
                      {{"sw0", "socket0", kGen4, {"gpu0", "nic0"}},
                       {"sw1", "socket0", kGen4, {"gpu1"}},
                       {"sw2", "socket0", kGen4, {"gpu2"}},
                       {"sw3", "socket0", kGen4, {"gpu3"}}});
  node.nvlink = kNvlink;
  const double bound = expect_held(request_over(node, 200_Gbps, 4, {48'000'000}), "node0.nic0", 4);
  EXPECT_NEAR(bound, 25e9 * 4096 / 4122, 1e6);
  node.nic_count = 4;
  for (std::size_t i = 1; i < 4; ++i) node.pcie[i].devices.push_back("nic" + std::to_string(i));
  expect_free(request_over(node, 200_Gbps, 4, {48'000'000}), bound);
}

// Both NICs and no GPU below sw0: all that leaves or enters the node crosses its uplink.
TEST(SharedUplink, TwoNicsOnTheOtherSideOfIt) {
  Node node = node_of(2, 2,
                      {{"sw0", "socket0", kGen4, {"nic0", "nic1"}},
                       {"sw1", "socket0", kGen4, {"gpu0"}},
                       {"sw2", "socket0", kGen4, {"gpu1"}}});
  node.nvlink = kNvlink;
  const double bound = expect_held(request_over(node, 200_Gbps, 2, {24'000'000}), "node0.sw0", 2);
  // Written to the GPUs upwards, in TLPs of 256 and 24 bytes; read requests pass there, too.
  EXPECT_NEAR(bound, oracle::pcie_bytes(kGen4, 0.03) / (1 + 24.0 / 256 + 24.0 / 4096), 1e6);
  node.pcie = {{"sw0", "socket0", kGen4, {"gpu0", "nic0"}},
               {"sw1", "socket0", kGen4, {"gpu1", "nic1"}}};
  expect_free(request_over(node, 200_Gbps, 2, {24'000'000}), bound);
}

Node nic_on_the_other_socket() {
  Node node = node_of(2, 1,
                      {{"sw0", "socket0", kGen4, {"gpu0"}},
                       {"sw1", "socket0", kGen4, {"gpu1"}},
                       {"", "socket1", kGen4, {"nic0"}}});
  node.sockets = 2;
  node.nvlink = kNvlink;
  return node;
}

TEST(SharedSocketLink, WhereTheNicIsOnTheOtherSocket) {
  Node node = nic_on_the_other_socket();
  node.socket_link = {10_GBps, 100_ns};
  const double bound =
      expect_held(request_over(node, 200_Gbps, 2, {16'000'000}), "node0.socket_link", 2);
  EXPECT_NEAR(bound, 10e9, 1e3);
  node.pcie[2].parent = "socket0";
  expect_free(request_over(node, 200_Gbps, 2, {16'000'000}), bound);
}

TEST(PeerToPeer, AcrossSocketsIsHeldToItsOwnLimit) {
  Node node = nic_on_the_other_socket();
  node.socket_link = {62_GBps, 100_ns};
  node.root_complex.peer_to_peer_across_sockets = 8_GBps;
  const double bound =
      expect_held(request_over(node, 200_Gbps, 2, {16'000'000}), "node0.socket_link", 2);
  EXPECT_NEAR(bound, 8e9, 1e3);
  node.root_complex.peer_to_peer_across_sockets = 20_GBps;
  expect_free(request_over(node, 200_Gbps, 2, {16'000'000}), bound);
}

TEST(PeerToPeer, ThroughARootComplexIsHeldToItsLimits) {
  Node node = nic_on_the_other_socket();
  node.pcie[2].parent = "socket0";
  node.root_complex.peer_to_peer_read = 7_GBps;
  node.root_complex.peer_to_peer_write = 9_GBps;
  double bound = expect_held(request_over(node, 200_Gbps, 2, {16'000'000}), "node0.socket0", 2);
  EXPECT_NEAR(bound, 7e9, 1e3);
  node.root_complex.peer_to_peer_read = 11_GBps;
  bound = expect_held(request_over(node, 200_Gbps, 2, {16'000'000}), "node0.socket0", 2);
  EXPECT_NEAR(bound, 9e9, 1e3);
  node.root_complex.peer_to_peer_write = 30_GBps;
  node.root_complex.peer_to_peer_read = 30_GBps;
  expect_free(request_over(node, 200_Gbps, 2, {16'000'000}), bound);
}

// Bad-uplink servers: GPUs behind one Gen3 uplink, the NIC straight at the socket.
TEST(SharedUplink, ManyGpusAndANicAtTheSocket) {
  Node node = node_of(4, 1,
                      {{"sw0", "socket0", kGen3, {"gpu0", "gpu1", "gpu2", "gpu3"}},
                       {"", "socket0", kGen4, {"nic0"}}});
  const double bound = expect_held(request_over(node, 200_Gbps, 1, {16'000'000}), "node0.sw0", 1);
  EXPECT_NEAR(bound, oracle::pcie_bytes(kGen3, 0.03) / (1 + 24.0 / 256 + 24.0 / 4096), 1e6);
  node.pcie = {{"sw0", "socket0", kGen4, {"gpu0", "gpu1", "gpu2", "gpu3", "nic0"}}};
  expect_free(request_over(node, 200_Gbps, 1, {16'000'000}), bound);
}

// The root complex splits TLPs to 64 bytes: what comes down the uplink is 88 wire bytes for 64.
TEST(SharedUplink, CarriesLessWhereTlpsAreSplit) {
  Node node = node_of(
      2, 1, {{"sw0", "socket0", kGen3, {"gpu0", "gpu1"}}, {"", "socket0", kGen4, {"nic0"}}});
  node.nvlink = kNvlink;
  node.root_complex.tlp_split = Bytes{64};
  const double bound = expect_held(request_over(node, 200_Gbps, 2, {16'000'000}), "node0.sw0", 2);
  EXPECT_NEAR(bound, oracle::pcie_bytes(kGen3, 0.03) / (88.0 / 64 + 24.0 / 4096), 1e6);
  node.root_complex.tlp_split.reset();
  EXPECT_GE(run(request_over(node, 200_Gbps, 2, {16'000'000})).busbw, 1.15 * bound);
}

// Without NVLink the last GPU hands the data on through PCIe, in the same direction as the NIC's
// own traffic.
TEST(WithoutNvlink, PeersShareTheirLinksWithTheNic) {
  Node node = node_of(4, 1,
                      {{"sw0", "socket0", kGen4, {"gpu0", "gpu1", "nic0"}},
                       {"sw1", "socket0", kGen3, {"gpu2", "gpu3"}}});
  // A ring enters and leaves sw1 once; of four, four do.
  const double bound = expect_held(request_over(node, 400_Gbps, 2, {16'000'000}), "node0.sw1", 2);
  EXPECT_NEAR(bound, oracle::pcie_bytes(kGen3, 0.03) / (1 + 24.0 / 256), 1e6);
  node.nvlink = kNvlink;
  expect_free(request_over(node, 400_Gbps, 2, {16'000'000}), bound);
}

TEST(WithoutNvlink, OneNodeIsHeldToItsNarrowestUplink) {
  Node node = node_of(4, 1,
                      {{"sw0", "socket0", kGen4, {"gpu0", "gpu1"}},
                       {"sw1", "socket1", kGen4, {"gpu2", "gpu3", "nic0"}}});
  node.sockets = 2;
  node.socket_link = {12_GBps, 100_ns};
  give_latencies(node);
  Cluster cluster;
  cluster.node = node;
  cluster.ranks_per_node = 4;
  PredictionRequest request = request_for(cluster, {16'000'000});
  request.communication.channels = 2;
  const double bound = expect_held(request, "node0.socket_link", 2);
  EXPECT_NEAR(bound, 12e9, 1e3);
  request.cluster.node.socket_link.bandwidth = 60_GBps;
  EXPECT_GE(run(request).busbw, 1.3 * bound);
}

// Nodes in turn at two leaves, so that every hop crosses them; half as many uplinks as downlinks.
TEST(SharedSpine, OversubscribedTwoToOne) {
  Node node = bare_node(2, 4);
  node.nvlink = kNvlink;
  give_latencies(node);
  Cluster cluster = one_switch(node, 4, 200_Gbps);
  cluster.network.topology = {TopologyKind::kLeafSpine, 16, 2, 1, 2};
  cluster.network.oversubscription = 2;
  PredictionRequest request = request_for(cluster, {16'000'000});
  request.communication.ring_order = RingOrder::kListed;
  request.communication.channels = 2;
  // Nodes 0 and 1 are at leaf 0, 2 and 3 at leaf 1.
  request.communication.listed_rings = {{0, 1, 4, 5, 2, 3, 6, 7}, {1, 0, 5, 4, 3, 2, 7, 6}};
  // 2 rings of 2 crossings from leaf 0 to leaf 1, over 2 cables.
  const double cable = 25e9 * 4096 / 4122;
  const double bound = cable * 2 * 2 / 4;
  const Outcome outcome = run(request);
  EXPECT_LE(outcome.busbw, bound);
  EXPECT_GE(outcome.busbw, 0.9 * bound);
  EXPECT_THAT(outcome.limited_by, testing::StartsWith("leaf0-spine0"));
  // Neighbours at one leaf: one crossing there and one back.
  request.communication.listed_rings = {{0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}};
  expect_free(request, bound);
}

// Whatever the tree and the rates: no run is faster than its narrowest link.
TEST(RandomClusters, NeverExceedTheirNarrowestLink) {
  double best = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Draws draws(seed);
    Node node = random_node(draws);
    draw_rates(node, draws);
    const int channels = node.nic_count * static_cast<int>(draws.between(1, 2));
    const PredictionRequest request =
        request_over(node, draws.below(2) == 0 ? 200_Gbps : 400_Gbps, channels, {4'000'000});
    const Narrow narrow = narrowest(request);
    const Outcome outcome = run(request);
    EXPECT_LE(outcome.busbw, narrow.bound) << "seed " << seed << ", " << narrow.resource;
    EXPECT_FALSE(outcome.limited_by.empty());
    best = std::max(best, outcome.busbw / narrow.bound);
  }
  EXPECT_GT(best, 0.97);
}

}  // namespace
}  // namespace gradhaul

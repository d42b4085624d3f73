// The gradient of a 7B model at reduced size on the servers it is trained on: within what the
// narrow resource allows, and close to it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/busbw.h"
#include "sim/predict.h"
#include "tests/sim/cluster_examples.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

// With eight rails, a leaf for each.
Cluster on_rails(const Node& node, int nodes, BitRate link) {
  Cluster cluster = one_switch(node, nodes, link);
  cluster.network.topology = {TopologyKind::kRailOptimized, 64, node.nic_count, 0, 0};
  return cluster;
}

Node with_one_nic(Node node) {
  node.nic_count = 1;
  for (PcieBranch& branch : node.pcie) {
    std::erase_if(branch.devices, [](const std::string& device) {
      return device.starts_with("nic") && device != "nic0";
    });
  }
  return node;
}

struct Outcome {
  double busbw = 0;
  std::string limited_by;
};

Outcome run(const PredictionRequest& request) {
  const ResultRow row = predict(request).rows.at(0);
  return {busbw(row.collective, row.ranks, row.size, row.time), row.limited_by};
}

// Time within [bound, + 8 %].
void expect_close_below(double busbw, double bound) {
  EXPECT_LE(busbw, bound);
  EXPECT_GE(busbw, bound / 1.08);
}

constexpr double kInfiniband = 4096.0 / 4122;

TEST(HgxH100, BalancedRingsAreHeldByTheNics) {
  const Outcome outcome = run(request_for(on_rails(hgx_h100(), 2, 400_Gbps), {300'000'000}));
  expect_close_below(outcome.busbw, 8 * 50e9 * kInfiniband);
  EXPECT_THAT(outcome.limited_by, testing::MatchesRegex("node0.nic[0-7] .* equal."));
}

TEST(HgxH100, FourNodesAreHeldByTheNics) {
  const Outcome outcome = run(request_for(on_rails(hgx_h100(), 4, 400_Gbps), {256'000'000}));
  expect_close_below(outcome.busbw, 8 * 50e9 * kInfiniband);
  EXPECT_THAT(outcome.limited_by, testing::MatchesRegex("node0.nic[0-7] .* equal."));
}

// As nccl orders them, NVLink carries all of what the NICs do: 370.8 GB/s of 397.5.
TEST(HgxH100, RingsInNcclsOrderAreHeldByNvlink) {
  PredictionRequest request = request_for(on_rails(hgx_h100(), 2, 400_Gbps), {300'000'000});
  request.communication.ring_order = RingOrder::kNccl;
  const Outcome outcome = run(request);
  expect_close_below(outcome.busbw, 450e9 * 0.824);
  EXPECT_THAT(outcome.limited_by, testing::HasSubstr("nvlink"));
}

TEST(HgxH100, WithOneNicANodeAreHeldByIt) {
  const Outcome outcome =
      run(request_for(one_switch(with_one_nic(hgx_h100()), 4, 400_Gbps), {64'000'000}));
  expect_close_below(outcome.busbw, 50e9 * kInfiniband);
  EXPECT_THAT(outcome.limited_by, testing::StartsWith("node0.nic0"));
}

TEST(DgxA100, BalancedRingsAreHeldByTheNics) {
  const Outcome outcome = run(request_for(on_rails(dgx_a100(), 2, 200_Gbps), {200'000'000}));
  expect_close_below(outcome.busbw, 8 * 25e9 * kInfiniband);
  EXPECT_THAT(outcome.limited_by, testing::MatchesRegex("node0.nic[0-7] .* equal."));
}

// One node: what NVLink carries, 450 x 0.824 and 300 x 0.8 GB/s a GPU.
TEST(OneNode, IsHeldByNvlink) {
  const struct {
    Node node;
    double bound;
  } cases[] = {{hgx_h100(), 370.8e9}, {dgx_a100(), 240e9}};
  for (const auto& c : cases) {
    Cluster cluster = one_switch(c.node, 1, 400_Gbps);
    const Outcome outcome = run(request_for(cluster, {2'000'000'000}));
    EXPECT_LE(outcome.busbw, c.bound) << c.node.name;
    EXPECT_GE(outcome.busbw, 0.95 * c.bound) << c.node.name;
    EXPECT_THAT(outcome.limited_by, testing::HasSubstr("nvlink")) << c.node.name;
  }
}

}  // namespace
}  // namespace gradhaul

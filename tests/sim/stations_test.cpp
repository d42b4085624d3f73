// Stations and events step the same worlds: the same service order on every link, the same
// completions, the same blame, to the last number.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <vector>

#include "core/placement.h"
#include "core/topology_size.h"
#include "sim/credit_watch.h"
#include "sim/packet_world.h"
#include "tests/sim/cluster_examples.h"
#include "tests/sim/draws.h"
#include "tests/sim/roce_examples.h"
#include "tests/sim/same_prediction.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

enum class Stepped { kByEvents, kByStations, kWaiting, kBegunAnew };

Stepped how_it_is_stepped(PredictionRequest request) {
  const Fabric fabric(request.cluster);
  const Placement placement =
      place(request.cluster, request.communication, request.workload.collective);
  const std::int64_t each = size_of(request.workload.datatype).count;
  PacketWorld world(request, fabric, placement, request.workload.sizes[0].count / each);
  if (!world.by_stations()) return Stepped::kByEvents;
  for (Rank rank = 0; rank < world.ranks(); ++rank) world.start_rank(rank, 0);
  try {
    while (!world.complete()) world.run(INT64_MAX - 1, INT64_MAX);
  } catch (const EventsNeeded& needed) {
    if (!needed.waiting_suffices) return Stepped::kBegunAnew;
    request.stepping = Stepping::kWaiting;
    return how_it_is_stepped(request);
  }
  return request.stepping == Stepping::kWaiting ? Stepped::kWaiting : Stepped::kByStations;
}

// Both answers are the same; and how the quick one came about.
Stepped both_ways(PredictionRequest request) {
  const Prediction quick = predict(request);
  const Stepped stepped = how_it_is_stepped(request);
  request.stepping = Stepping::kEvents;
  const Prediction events = predict(request);
  expect_same_run(quick, events);
  for (std::size_t i = 0; i < events.rows.size(); ++i) {
    expect_same_parts(quick.rows[i], events.rows[i]);
  }
  // Where it looks for what recurs depends on what a step costs.
  if (!request.skip_recurrences) {
    EXPECT_EQ(quick.cost.packet_hops, events.cost.packet_hops);
  }
  return stepped;
}

Cluster with_topology(Cluster cluster, TopologyKind kind, int ports) {
  cluster.network.topology = {};
  cluster.network.topology.kind = kind;
  cluster.network.topology.switch_ports = ports;
  cluster.network.topology =
      size_topology(cluster.network, cluster.nodes, cluster.node.nic_count).topology;
  return cluster;
}

TEST(Stations, StepHealthyInfiniband) {
  const Cluster cluster = one_switch(hgx_h100(), 4, 400_Gbps);
  for (const bool skip : {false, true}) {
    PredictionRequest request =
        request_for(with_topology(cluster, TopologyKind::kRailOptimized, 64), 8_MiB);
    request.skip_recurrences = skip;
    EXPECT_EQ(both_ways(request), Stepped::kByStations);
    request.cluster = with_topology(cluster, TopologyKind::kLeafSpine, 16);
    EXPECT_EQ(both_ways(request), Stepped::kByStations);
  }
}

CongestionControl marking_from(Bytes kmin) {
  CongestionControl control = quick_dcqcn();
  control.kmin = kmin;
  control.kmax = {4 * kmin.count};
  return control;
}

// Also where marks and pauses might come, and none does: then what recurs is skipped as on
// InfiniBand.
TEST(Stations, StepLosslessRoce) {
  const Cluster rails =
      with_topology(one_switch(hgx_h100(), 4, 400_Gbps), TopologyKind::kRailOptimized, 64);
  PredictionRequest request = request_for(lossless_roce(rails), 8_MiB);
  for (const double alpha : {0.0, 1.0}) {
    for (const bool marks : {false, true}) {
      request.cluster.network.pause.alpha = alpha;
      if (marks) request.cluster.network.congestion = marking_from(100_KiB);
      request.skip_recurrences = false;
      EXPECT_EQ(both_ways(request), Stepped::kByStations);
      request.skip_recurrences = true;
      EXPECT_EQ(both_ways(request), Stepped::kByStations);
      EXPECT_GT(predict(request).cost.skipped_packet_hops, 0);
    }
  }
}

PredictionRequest incast_of_roce() {
  PredictionRequest request = request_for(lossless_roce(roce_switch(5, 100_Gbps)), 4_MiB);
  request.communication.algorithm = Algorithm::kParameterServer;
  request.cluster.node.nic.receive_latency = 200_ns;
  request.cluster.node.nic.transmit_latency = 100_ns;
  return request;
}

// Each of them alone: what is marked, and paused by a mark of the port's own or one that is shared.
TEST(Stations, BeginAnewWhereQueuesGrow) {
  PredictionRequest request = incast_of_roce();
  request.cluster.network.congestion = marking_from(10_KiB);
  Prediction prediction = predict(request);
  const auto any = [&](auto counted) {
    return std::any_of(prediction.counters.begin(), prediction.counters.end(),
                       [&](const PortCounters& port) { return counted(port) > 0; });
  };
  EXPECT_EQ(both_ways(request), Stepped::kBegunAnew);
  EXPECT_TRUE(any([](const PortCounters& port) { return port.ecn_marked; }));
  for (const double alpha : {0.0, 0.01}) {
    request = incast_of_roce();
    request.cluster.network.pause.alpha = alpha;
    if (alpha == 0) request.cluster.network.pause.xoff = {20'000};
    if (alpha == 0) request.cluster.network.pause.xon = {10'000};
    EXPECT_EQ(both_ways(request), Stepped::kBegunAnew);
    prediction = predict(request);
    EXPECT_TRUE(any([](const PortCounters& port) { return port.pfc_pause_frames; })) << alpha;
  }
}

// Around the marks that queues just reach and just do not.
TEST(Stations, KnowWhichMarksQueuesReach) {
  const auto stepped = [&](auto set) {
    std::map<Stepped, int> met;
    for (std::int64_t mark = 6'000; mark < 400'000; mark += mark / 8) {
      PredictionRequest request = incast_of_roce();
      request.workload.sizes = {64_KiB};
      set(request.cluster.network, mark);
      SCOPED_TRACE(mark);
      ++met[both_ways(request)];
    }
    return met[Stepped::kBegunAnew] > 3 && met[Stepped::kByStations] > 3;
  };
  EXPECT_TRUE(stepped([](Network& network, std::int64_t mark) {
    network.pause.xoff = {mark};
    network.pause.xon = {mark / 2};
  }));
  EXPECT_TRUE(stepped([](Network& network, std::int64_t mark) {
    network.congestion = marking_from({mark});
    network.congestion.kmax = {mark + 1};
  }));
  EXPECT_TRUE(stepped([](Network& network, std::int64_t mark) {
    network.pause.alpha = static_cast<double>(mark) / 8e6;
  }));
}

// GPUs whose memory is read and written in no time, and real ones.
TEST(Stations, StepTheIdealNetwork) {
  PredictionRequest request = request_for(ideal_cluster(4), 8_MiB);
  for (const bool skip : {false, true}) {
    request.skip_recurrences = skip;
    EXPECT_EQ(both_ways(request), Stepped::kByStations);
  }
  request.cluster = one_switch(hgx_h100(), 2, 400_Gbps);
  request.cluster.network.kind = NetworkKind::kIdeal;
  EXPECT_EQ(both_ways(request), Stepped::kByStations);
}

TEST(Stations, LeaveToEventsWhatTheyDoNotKnow) {
  PredictionRequest roce = request_for(lossless_roce(one_switch(hgx_h100(), 2, 400_Gbps)), 1_MiB);
  ASSERT_EQ(both_ways(roce), Stepped::kByStations);
  roce.cluster.faults.storms = {{"node1.nic0", 20_us, 30_us}};
  EXPECT_EQ(both_ways(roce), Stepped::kByEvents);
  roce.cluster.faults.storms.clear();
  roce.cluster.network.pause.on = false;
  EXPECT_EQ(both_ways(roce), Stepped::kByEvents);

  const PredictionRequest request = request_for(one_switch(hgx_h100(), 2, 400_Gbps), 4_MiB);
  ASSERT_EQ(both_ways(request), Stepped::kByStations);
  const auto changed = [&](auto change) {
    PredictionRequest other = request;
    change(other);
    return both_ways(other);
  };
  EXPECT_EQ(changed([](auto& r) { r.communication.gpudirect = GpuDirect::kOff; }),
            Stepped::kByEvents);
  EXPECT_EQ(changed([](auto& r) { r.cluster.node.pcie_settings.acs = true; }), Stepped::kByEvents);
  EXPECT_EQ(changed([](auto& r) { r.cluster.node.pcie_settings.tags = 8; }), Stepped::kByEvents);
  EXPECT_EQ(changed([](auto& r) { r.cluster.node.nic.receive_latency = {}; }), Stepped::kByEvents);
  EXPECT_EQ(changed([](auto& r) { r.cluster.node.nic.transmit_latency = {}; }), Stepped::kByEvents);
}

// A NIC that takes few messages a second waits far longer for the next one than packets take to be
// seen.
TEST(Stations, WaitForTheNextMessage) {
  PredictionRequest request = request_for(one_switch(hgx_h100(), 2, 400_Gbps), 1_MiB);
  request.communication.slot_size = 16_KiB;
  for (const std::int64_t rate : {1'000'000, 100'000, 10'000}) {
    request.cluster.node.nic.message_rate = rate;
    EXPECT_EQ(both_ways(request), Stepped::kByStations);
  }
}

std::int64_t longest_stall(const PredictionRequest& request) {
  std::int64_t longest = 0;
  for (const PortCounters& port : predict(request).counters) {
    longest = std::max(longest, port.xmit_wait.ps);
  }
  return longest;
}

// Where packets wait for credits: of a round trip that a buffer does not cover, of a port that
// several send to, of links between switches that are too few; and where these wait for each other.
std::vector<PredictionRequest> congested_worlds() {
  PredictionRequest round_trip = request_for(one_switch(hgx_h100(), 2, 400_Gbps), 2_MiB);
  round_trip.cluster.network.vl_buffer = 16_KiB;
  PredictionRequest incast = request_for(one_switch(hgx_h100(), 4, 400_Gbps), 2_MiB);
  incast.workload.collective = Collective::kAllToAll;
  incast.communication.algorithm = Algorithm::kPairwise;
  PredictionRequest uplinks = request_for(one_switch(hgx_h100(), 4, 400_Gbps), 8_MiB);
  uplinks.communication.channels = 16;
  uplinks.cluster.network.oversubscription = 2;
  uplinks.cluster = with_topology(uplinks.cluster, TopologyKind::kLeafSpine, 16);
  PredictionRequest all = incast;
  all.cluster = uplinks.cluster;
  all.cluster.network.vl_buffer = 24_KiB;
  return {round_trip, incast, uplinks, all};
}

TEST(Stations, WaitForCreditsOfWires) {
  for (PredictionRequest& request : congested_worlds()) {
    for (const bool skip : {false, true}) {
      request.skip_recurrences = skip;
      EXPECT_EQ(both_ways(request), Stepped::kWaiting);
    }
    EXPECT_GT(longest_stall(request), 0);
  }
}

// Below the wires they do not, and nor where it is no credit that is waited for.
TEST(Stations, BeginAnewWhereCreditsOfPcieRunOut) {
  PredictionRequest request = request_for(one_switch(hgx_h100(), 2, 400_Gbps), 4_MiB);
  request.cluster.node.pcie_settings.posted_header_credits = 20;
  EXPECT_EQ(both_ways(request), Stepped::kBegunAnew);
  request.cluster.network.vl_buffer = 16_KiB;
  EXPECT_EQ(both_ways(request), Stepped::kBegunAnew);
}

// Whoever asks for so many events is asked again, also where what recurs is skipped in between.
TEST(Stations, ComeBackAfterSoManyEvents) {
  PredictionRequest request = request_for(one_switch(hgx_h100(), 2, 400_Gbps), 16_MiB);
  const Fabric fabric(request.cluster);
  const Placement placement = place(request.cluster, request.communication, Collective::kAllReduce);
  PacketWorld world(request, fabric, placement, request.workload.sizes[0].count / 2);
  ASSERT_TRUE(world.by_stations());
  for (Rank rank = 0; rank < world.ranks(); ++rank) world.start_rank(rank, 0);
  std::int64_t pauses = 0;
  while (!world.complete()) {
    const std::int64_t before = world.engine().events();
    if (world.run(INT64_MAX - 1, 500) == PacketEngine::Pause::kBudget) ++pauses;
    // All that stations do before the next event comes on top.
    EXPECT_LT(world.engine().events() - before, 5'000);
  }
  EXPECT_GT(pauses, world.engine().events() / 5'000);
}

Node draw_node(Draws& draws) {
  Node node = hgx_h100();
  const std::int64_t shape = draws.below(4);
  if (shape == 0) {  // one NIC for all
    node.nic_count = 1;
    for (std::size_t i = 1; i < 8; ++i) node.pcie[i].devices.pop_back();
  } else if (shape == 1) {  // one GPU
    node.gpu_count = node.nic_count = 1;
    node.nvlink.reset();
    node.pcie.resize(1);
  } else {
    node.gpu_count = node.nic_count = static_cast<int>(draws.between(2, 8));
    node.pcie.resize(static_cast<std::size_t>(node.gpu_count));
  }
  node.pcie_settings.posted_header_credits = static_cast<int>(draws.between(60, 256));
  node.pcie_settings.posted_data_credits = static_cast<int>(draws.between(1000, 4096));
  node.pcie_settings.credit_loop = {draws.between(150, 300) * 1000};
  node.nic.receive_latency = {draws.between(100, 300) * 1000};
  node.nic.transmit_latency = {draws.below(8) == 0 ? 0 : draws.between(1, 300) * 1000};
  node.nic.message_rate = draws.between(1, 300) * 1'000'000;
  node.nic.transmit_buffer = {draws.between(16, 300) * 1024};
  node.gpu.reduce_bandwidth = BitRate{draws.between(20, 60) * 8'000'000'000};
  return node;
}

void draw_roce(Network& network, Draws& draws) {
  network.kind = NetworkKind::kRoce;
  network.switch_latency = {draws.between(100, 500) * 1000};
  network.switch_buffer = {draws.between(16, 64) * 1'000'000};
  network.pause.xoff = {draws.between(6'000, 80'000)};
  network.pause.xon = {draws.between(0, network.pause.xoff.count)};
  network.pause.response = {draws.below(2'000'000)};
  if (draws.below(3) == 0) network.pause.alpha = 0.1 * static_cast<double>(draws.between(1, 10));
  if (draws.below(2) == 0) network.congestion = marking_from({draws.between(2, 48) * 1024});
  if (draws.below(2) == 0) network.routing = Routing::kEcmp;
}

PredictionRequest draw_request(std::uint64_t seed) {
  Draws draws(seed);
  const Node node = draw_node(draws);
  const BitRate link{draws.between(50, 420) * 1'000'000'000};
  Cluster cluster = one_switch(node, static_cast<int>(draws.between(2, 5)), link);
  const std::int64_t ideal = draws.below(8);
  if (ideal == 0) cluster = ideal_cluster(static_cast<int>(draws.between(2, 9)));
  if (ideal == 1) cluster.network.kind = NetworkKind::kIdeal;
  const std::int64_t kind = draws.below(3);
  if (kind == 1) cluster = with_topology(cluster, TopologyKind::kRailOptimized, 64);
  if (kind == 2) {
    cluster.network.oversubscription = static_cast<double>(draws.between(1, 3));
    cluster = with_topology(cluster, TopologyKind::kLeafSpine, 16);
  }
  cluster.network.mtu = {1024 << draws.below(3)};
  // Often less than what is under way, now and then hardly more than a packet.
  cluster.network.vl_buffer = {draws.between(5, draws.below(2) == 0 ? 30 : 128) * 1024};
  cluster.network.credit_return = {draws.between(50, 400) * 1000};
  PredictionRequest request = request_for(cluster, {2 * draws.between(1, 700'000)});
  Communication& communication = request.communication;
  communication.channels = static_cast<int>(draws.between(1, 8));
  communication.slots = static_cast<int>(draws.between(1, 8));
  communication.slot_size = {4096 << draws.below(7)};
  communication.queue_pairs = static_cast<int>(draws.between(1, 3));
  if (draws.below(3) == 0) communication.ring_order = RingOrder::kNccl;
  if (draws.below(4) == 0) communication.thread_step = {draws.between(1, 700) * 1000};
  const std::int64_t pattern = draws.below(5);
  if (pattern == 1) {
    request.workload.collective = Collective::kAllToAll;
    communication.algorithm = Algorithm::kPairwise;
  } else if (pattern == 2) {
    communication.algorithm = Algorithm::kDoubleBinaryTree;
  } else if (pattern == 3) {
    communication.algorithm = Algorithm::kParameterServer;
  }
  request.skip_recurrences = draws.below(2) == 0;
  if (ideal > 1 && draws.below(3) == 0) draw_roce(request.cluster.network, draws);
  return request;
}

class RandomWorlds : public testing::TestWithParam<int> {};

TEST_P(RandomWorlds, AreTheSameByStationsAndByEvents) {
  int by_stations = 0;
  for (int i = 0; i < 10; ++i) {
    const auto seed = static_cast<std::uint64_t>(10 * GetParam() + i);
    SCOPED_TRACE(testing::Message() << "world " << seed);
    const Stepped stepped = both_ways(draw_request(seed));
    if (stepped == Stepped::kByStations || stepped == Stepped::kWaiting) ++by_stations;
  }
  EXPECT_GE(by_stations, 1) << "stations step worlds where they can";
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomWorlds, testing::Range(0, 100));

struct Outcome {
  std::uint64_t digest = 0;
  std::int64_t end = 0;
};

// With windows so much longer than is right. None where events are needed.
std::optional<Outcome> run_with(const PredictionRequest& request, int times) {
  const Fabric fabric(request.cluster);
  const Placement placement =
      place(request.cluster, request.communication, request.workload.collective);
  PacketWorld world(request, fabric, placement, request.workload.sizes[0].count / 2);
  world.stretch_windows(times);
  for (Rank rank = 0; rank < world.ranks(); ++rank) world.start_rank(rank, 0);
  try {
    while (!world.complete()) world.run(INT64_MAX - 1, INT64_MAX);
  } catch (const EventsNeeded&) {
    return std::nullopt;
  }
  return Outcome{world.digest(), world.end()};
}

// Windows longer than the way from one station back to another change what is served when. Digests
// tell, also where the end stays what it was.
TEST(Stations, TooLongWindowsAreSeen) {
  int seen = 0;
  int same_end = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const PredictionRequest request = draw_request(seed);
    if (how_it_is_stepped(request) != Stepped::kByStations) continue;
    const std::optional<Outcome> right = run_with(request, 1);
    const std::optional<Outcome> wrong = run_with(request, 2);
    if (!wrong || wrong->digest == right->digest) continue;
    ++seen;
    if (wrong->end == right->end) ++same_end;
  }
  EXPECT_GT(seen, 0);
  EXPECT_GT(same_end, 0) << "ends alone would not have told";
}

// Who believes to know for twice the way of credits what comes back starts packets late, or has a
// clock that is ahead of what others tell it: another digest, or the end of the program.
TEST(StationsDeathTest, TooLongWindowsAreSeenWhereTheyWait) {
  const auto compare = [] {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      PredictionRequest request = draw_request(seed);
      if (how_it_is_stepped(request) != Stepped::kWaiting) continue;
      request.stepping = Stepping::kWaiting;
      if (run_with(request, 2)->digest != run_with(request, 1)->digest) std::_Exit(1);
    }
    std::_Exit(0);
  };
  EXPECT_EXIT(
      compare(), [](int status) { return status != 0; }, "");
}

}  // namespace
}  // namespace gradhaul

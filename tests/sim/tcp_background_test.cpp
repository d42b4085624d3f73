// Background traffic by TCP: it goes as all else does, from memory of GPUs by way of their hosts,
// and takes its share of wires and of the cores that receive it.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/network_framing.h"
#include "core/topology_size.h"
#include "tests/sim/task_examples.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

constexpr std::int64_t kPacket = 8948;
constexpr std::int64_t kAggregate = 7 * kPacket;
// What a core takes to send and to receive one, in us (core/tcp_settings.h).
constexpr double kSend = kAggregate / 10e3 + 2.5 + 0.2;
constexpr double kReceive = kAggregate / 7.5e3 + 2.5 + 0.2 + 7 * 0.15;
// And a wire of 100 Gb/s to carry it.
constexpr double kWire = 7 * (kPacket + 90) / 12.5e3;

Cluster tcp_cluster(int nodes) { return sockets_cluster(nodes, 100_Gbps, {kPacket}); }

BackgroundTraffic pair_of(int from, int to, double load) {
  BackgroundTraffic traffic;
  traffic.name = "others";
  traffic.pattern = TrafficPattern::kPairs;
  traffic.pairs = {{from, to}};
  traffic.load = load;
  traffic.message = {kAggregate};
  return traffic;
}

double use_of(const TaskGraphResult& result, const std::string& name) {
  const auto found = std::find_if(result.resources.begin(), result.resources.end(),
                                  [&](const ResourceUse& use) { return use.name == name; });
  return found == result.resources.end() ? 0 : found->utilisation;
}

TEST(TcpBackground, LoadsWiresAsAskedAndCoresWithThat) {
  for (const double load : {0.1, 0.3}) {
    TaskGraph graph;
    add_computation(graph, {0}, 5000_us);
    graph.background = {pair_of(0, 1, load)};
    const TaskGraphResult result = run_tasks(tcp_cluster(2), graph);
    EXPECT_NEAR(use_of(result, "node0.nic0"), load, 0.03 * load);
    EXPECT_NEAR(use_of(result, "node0.gpu0.thread"), load * kSend / kWire, 0.03 * load);
    EXPECT_NEAR(use_of(result, "node1.gpu0.thread"), load * kReceive / kWire, 0.05 * load);
    EXPECT_NEAR(result.background[0].offered, load, 0.03 * load);
    EXPECT_EQ(result.background[0].held_back, 0);
  }
}

// A receiving core is what limits a stream: others take their share of it.
TEST(TcpBackground, LeavesAStreamWhatItLeavesOfTheCore) {
  const Cluster cluster = tcp_cluster(3);
  Communication how;
  how.channels = 1;
  how.slot_size = {8 * kAggregate};
  how.gpudirect = GpuDirect::kOff;
  how.tcp = cluster.network.tcp;
  TaskGraph graph;
  add_collective(graph, add_communicator(graph, {0, 1}, how), {64 * 8 * kAggregate},
                 Collective::kBroadcast);
  const double alone = run_tasks(cluster, graph).tasks[0].row.time.microseconds();
  for (const double load : {0.1, 0.2}) {
    graph.background = {pair_of(2, 1, load)};
    const double beside = run_tasks(cluster, graph).tasks[0].row.time.microseconds();
    EXPECT_NEAR(alone / beside, 1 - load * kReceive / kWire, 0.03) << load;
  }
}

}  // namespace
}  // namespace gradhaul

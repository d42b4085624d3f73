// Speed and memory of the packet model: packet-hops a second of CPU time on the shapes of the main
// scenarios, and memory that stays put while the message grows.
//
// Every packet is simulated, but where a benchmark says that it skips what recurs: its hops are
// those that are accounted for.
//
// A hop is one data packet over one link, PCIe links included (the packet's TLPs cross those as one
// train); what crosses a network wire is shown apart.

#include <benchmark/benchmark.h>
#include <malloc.h>

#include "core/placement.h"
#include "core/topology_size.h"
#include "sim/packet_world.h"
#include "tests/sim/roce_examples.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

Cluster four_nodes_of_eight() {
  Cluster cluster;
  cluster.nodes = 4;
  cluster.ranks_per_node = 8;
  cluster.node = hgx_h100();
  cluster.network.link = 400_Gbps;
  cluster.network.topology.kind = TopologyKind::kRailOptimized;
  cluster.network.topology.switch_ports = 64;
  return cluster;
}

Cluster flat_32() {
  Node node = hgx_h100();
  node.gpu_count = 1;
  node.nic_count = 1;
  node.sockets = 1;
  node.nvlink.reset();
  node.pcie = {{"sw0", "socket0", PcieLink{5, 16}, {"gpu0", "nic0"}}};
  return one_switch(node, 32, 400_Gbps);
}

void run_ring(benchmark::State& state, Cluster cluster, bool skip = false,
              Stepping stepping = Stepping::kAuto) {
  cluster.network.topology =
      size_topology(cluster.network, cluster.nodes, cluster.node.nic_count).topology;
  const Bytes size{state.range(0) << 20};
  PredictionRequest request = request_for(cluster, size);
  request.skip_recurrences = skip;
  request.stepping = stepping;
  const Fabric fabric(cluster);
  const Placement placement = place(cluster, request.communication, Collective::kAllReduce);
  double hops = 0;
  double wire_hops = 0;
  double heap = 0;
  for (auto _ : state) {
    const std::size_t before = mallinfo2().uordblks;
    PacketWorld world(request, fabric, placement,
                      size.count / size_of(request.workload.datatype).count);
    for (Rank rank = 0; rank < world.ranks(); ++rank) world.start_rank(rank, 0);
    while (!world.complete()) world.run(INT64_MAX - 1, INT64_MAX);
    heap = static_cast<double>(mallinfo2().uordblks - before);
    hops += static_cast<double>(world.engine().packet_hops() + world.engine().repeated_hops());
    // Two wires of each packet's hops, or four between leaves; counted as two.
    wire_hops += 2 * static_cast<double>(world.transport().packets());
  }
  state.counters["packet_hops"] = benchmark::Counter(hops, benchmark::Counter::kIsRate);
  state.counters["wire_hops"] = benchmark::Counter(wire_hops, benchmark::Counter::kIsRate);
  state.counters["heap_MB"] = heap * 1e-6;
}

void BM_FourNodesOfEight(benchmark::State& state) { run_ring(state, four_nodes_of_eight()); }

// Between leaves there is half of what is needed, all the time, and packets wait for credits.
Cluster half_the_uplinks() {
  Cluster cluster = four_nodes_of_eight();
  cluster.network.topology.kind = TopologyKind::kLeafSpine;
  cluster.network.topology.switch_ports = 16;
  cluster.network.oversubscription = 2;
  return cluster;
}

void BM_HalfTheUplinks(benchmark::State& state) {
  run_ring(state, half_the_uplinks(), false, Stepping::kWaiting);
}
void BM_HalfTheUplinksByEvents(benchmark::State& state) {
  run_ring(state, half_the_uplinks(), false, Stepping::kEvents);
}

// All that may slow Ethernet down is on, and nothing does.
Cluster over_roce(const Cluster& cluster) {
  Cluster over = lossless_roce(cluster);
  over.network.congestion = quick_dcqcn();
  over.network.congestion.kmin = 100_KiB;
  over.network.congestion.kmax = 400_KiB;
  return over;
}

void BM_FourNodesOfEightOverRoce(benchmark::State& state) {
  run_ring(state, over_roce(four_nodes_of_eight()));
}
void BM_Flat32OverRoce(benchmark::State& state) { run_ring(state, over_roce(flat_32())); }
void BM_Flat32(benchmark::State& state) { run_ring(state, flat_32()); }
void BM_Flat32Skipping(benchmark::State& state) { run_ring(state, flat_32(), true); }

// MiB of message per rank. The heap settles once all slots are in use and does not follow the
// message.
BENCHMARK(BM_FourNodesOfEight)->Arg(2048)->Arg(8192)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(BM_FourNodesOfEightOverRoce)->Arg(2048)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(BM_HalfTheUplinks)->Arg(512)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(BM_HalfTheUplinksByEvents)->Arg(512)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(BM_Flat32OverRoce)->Arg(512)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(BM_Flat32)->Arg(128)->Arg(512)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(BM_Flat32Skipping)->Arg(512)->Arg(2048)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
}  // namespace gradhaul

BENCHMARK_MAIN();

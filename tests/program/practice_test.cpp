// Shipped scenarios of what makes real clusters slow show it, each beside its closed form.

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "tests/program/run_program.h"

namespace gradhaul {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

// 400 Gb/s less InfiniBand's headers on packets of 4096 B, 26 B each.
constexpr double kNdr = 50e9 * 4096 / 4122;

Json result(const std::string& scenario, const std::vector<std::string>& settings) {
  const std::string file = temporary_file("result.json");
  std::vector<std::string> arguments{"predict", scenario, "--json", file, "--progress", "off"};
  for (const std::string& setting : settings) {
    arguments.insert(arguments.end(), {"--set", setting});
  }
  const ProgramRun run = run_program(arguments);
  EXPECT_EQ(run.status, 0) << run.err;
  return Json::parse(text_of(file));
}

double seconds(const std::string& scenario, const std::vector<std::string>& settings) {
  return result(scenario, settings)["rows"][0]["time_us"].get<double>() / 1e6;
}

// Framing of RoCEv2: 82 B to each packet. The first bytes take some us more.
TEST(RoceMtu1024, LosesTheShareOfItsHeaders) {
  constexpr double kSize = 128 << 20;
  const double small = seconds("roce-mtu-1024", {"workload.size=128MiB"});
  const double jumbo =
      seconds("roce-mtu-1024", {"workload.size=128MiB", "cluster.network.port_mtu=9000B"});
  EXPECT_NEAR(small, kSize / (50e9 * 1024 / 1106), 0.01 * small);
  EXPECT_NEAR(jumbo, kSize / (50e9 * 4096 / 4178), 0.01 * jumbo);
}

// 31 x 14 GB through one port; a ring 62/32 of 14 GB.
TEST(ParameterServer, IsAsSlowAsOnePort) {
  const double server = seconds("parameter-server", {});
  EXPECT_GT(server, 31 * 14e9 / kNdr);
  EXPECT_NEAR(server, 31 * 14e9 / kNdr, 0.02 * server);
  const double ring = seconds("parameter-server", {"communication.algorithm=ring"});
  EXPECT_NEAR(ring, 2 * 31.0 / 32 * 14e9 / kNdr, 0.05 * ring);
}

// Two flows on one uplink, and none.
TEST(StaticCollision, HalvesTheRate) {
  const double met = seconds("static-collision", {"workload.size=96MiB"});
  const double apart = seconds("static-collision",
                               {"workload.size=96MiB", "communication.ring_order=[0,2,1,5,3,4]"});
  EXPECT_NEAR(apart, 2 * 5.0 / 6 * (96 << 20) / kNdr, 0.05 * apart);
  EXPECT_NEAR(met / apart, 2, 0.05);
}

// From leaf 0, 5 and 6 to 1, 2 and 3 nine messages go one way over the cable between 0 and 1, where
// a NIC sends six; of shortest ways each waits for the next.
TEST(RingOfSwitches, SparesALeafOrIsRefusedByTheNameOfItsCircle) {
  const std::string scenario = "ring-of-switches";
  const std::string shortest = "cluster.network.topology.way=shortest";
  const Json run = result(scenario, {});
  double cable = 0;
  double nic = 0;
  for (const Json& resource : run["resources"]) {
    if (resource["name"] == "leaf0-leaf1") cable = resource["bytes"];
    if (resource["name"] == "node0.nic0") nic = resource["bytes"];
  }
  EXPECT_NEAR(nic, 2 * 6.0 / 7 * (64 << 20), 1e-4 * nic);
  EXPECT_NEAR(cable / nic, 9.0 / 6, 1e-4);
  const double least = 9.0 / 7 * (64 << 20) / (50e9 * 4096 / 4178);
  EXPECT_GT(run["rows"][0]["time_us"].get<double>() / 1e6, least);
  const ProgramRun refused = run_program({"predict", scenario, "--set", shortest});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("(cyclic buffer dependency): leaf0-leaf1.0.back -> "
                                     "leaf6-leaf0.0.back -> leaf5-leaf6.0.back -> "
                                     "leaf4-leaf5.0.back -> leaf3-leaf4.0.back -> "
                                     "leaf2-leaf3.0.back -> leaf1-leaf2.0.back -> "
                                     "leaf0-leaf1.0.back;"));
  const double lossy = seconds(scenario, {shortest, "cluster.network.flow_control=none"});
  EXPECT_GT(lossy, 6.0 / 7 * (64 << 20) / (50e9 * 4096 / 4178));
  EXPECT_LT(lossy, run["rows"][0]["time_us"].get<double>() / 1e6);
}

// 32 writes find so many receives, and then none until rnr_timer is over.
TEST(LateReceives, WaitOnceForEachTimeTheyRunOut) {
  const std::string scenario = "late-receives";
  const auto naks = [&](const Json& run) {
    std::int64_t most = 0;
    for (const Json& port : run["counters"]) {
      most = std::max(most, port["rnr_nak_retry_err"].get<std::int64_t>());
    }
    return most;
  };
  const Json four = result(scenario, {});
  const Json eight = result(scenario, {"communication.receives=auto"});
  // Of data and of the slots that are given back, which take receives too.
  EXPECT_EQ(naks(four), 2 * (32 / 4 - 1));
  EXPECT_EQ(naks(eight), 2 * (32 / 8 - 1));
  const double sent = (16 << 20) / kNdr * 1e6;
  for (const auto& [run, waits] : {std::pair(four, 7), std::pair(eight, 3)}) {
    const double time = run["rows"][0]["time_us"];
    EXPECT_GT(time, waits * 640 + sent);
    EXPECT_LT(time, waits * 640 + sent + 100);
  }
  const double healthy = seconds(scenario, {"cluster.faults=[]"});
  EXPECT_DOUBLE_EQ(seconds(scenario, {"communication.receives=32"}), healthy);
  const ProgramRun given_up =
      run_program({"predict", scenario, "--set", "communication.rnr_retry=2", "--set",
                   "cluster.faults=[{node: node1, receives_late: 20ms}]"});
  EXPECT_EQ(given_up.status, 1);
  EXPECT_THAT(given_up.err, HasSubstr("RNR retry counter exceeded: queue pair 0 of channel 0 from "
                                      "rank 0 (node0.nic0) to rank 1 (node1.nic0)"));
}

// What is under way in a round trip: 4 slots of 512 KiB in two channels, in 2 x (20 km x 5.05 ns/m
// + 3 switches of 400 ns), and what slices, kernels and NICs take.
TEST(WanRing, CarriesItsSlotsInEachRoundTrip) {
  const double traffic = 2 * 3.0 / 4 * (256 << 20);
  const double round_trip = 2 * (20e3 * 5.05e-9 + 3 * 400e-9);
  const double few = seconds("wan-ring", {"workload.size=256MiB"});
  EXPECT_LT(traffic / few, 8 * 524288 / round_trip);
  EXPECT_GT(traffic / few, 8 * 524288 / (round_trip + 50e-6));
  const double twice = seconds("wan-ring", {"workload.size=256MiB", "communication.slots=8"});
  EXPECT_NEAR(few / twice, 2, 0.05);
  const double enough = seconds("wan-ring", {"workload.size=256MiB", "communication.slots=16"});
  EXPECT_NEAR(enough, traffic / (50e9 * 4096 / 4178), 0.05 * enough);
}

// Each of 62 steps sends a chunk and then reduces or copies it; pipelined, the slower of the two.
TEST(WholeChunks, AreSentAndReducedInTurn) {
  const double chunk = 32 << 20;
  const double whole = seconds("whole-chunks", {});
  EXPECT_NEAR(whole, 62 * (chunk / kNdr + chunk / 37e9), 0.02 * whole);
  const double slices =
      seconds("whole-chunks", {"communication.slots=8", "communication.slot_size=512KiB"});
  EXPECT_NEAR(slices, 62 * chunk / 37e9, 0.03 * slices);
}

// 130 us and 750 ns for each page, 64 KiB or 2 MiB, and 0.45 times that until it is taken back; or
// before all else, beside the slots of what comes in and the queue pairs at both ends.
TEST(RegistrationPerTransfer, AddsABaseAndItsPages) {
  const std::string scenario = "registration-per-transfer";
  const Json once = result(scenario, {"communication.registration=once"})["rows"][0];
  const double free = once["time_us"];
  EXPECT_NEAR(seconds(scenario, {}) * 1e6 - free, 1.45 * (130 + 4096 * 0.75), 1);
  EXPECT_NEAR(seconds(scenario, {"communication.page_size=2MiB"}) * 1e6 - free,
              1.45 * (130 + 128 * 0.75), 1);
  const int channels = once["channels"];
  EXPECT_DOUBLE_EQ(once["setup_parts_us"]["registration"].get<double>(),
                   130 + 4096 * 0.75 + 130 + channels * 8 * 8 * 0.75);
  EXPECT_DOUBLE_EQ(once["setup_parts_us"]["queue_pairs"].get<double>(), channels * 2 * 2 * 1000.0);
  EXPECT_DOUBLE_EQ(once["cpu_cores"].get<double>(), 1);
  // All that a cache leaves of it is a look for each collective, however large.
  for (const char* size : {"1MiB", "64MiB"}) {
    const std::string sized = std::string("workload.size=") + size;
    EXPECT_NEAR(seconds(scenario, {sized, "communication.registration=cached"}) * 1e6 -
                    seconds(scenario, {sized, "communication.registration=once"}) * 1e6,
                0.2, 0.01)
        << size;
  }
}

// A rank sends to the other and receives from it: of each connection so many queue pairs for data,
// and one for credits, at a millisecond each. Registered are 16 MiB, and 64 slots of 512 KiB.
TEST(BondedPort, TakesLongerToSetUpWithMoreQueuePairs) {
  for (const int pairs : {1, 16, 128}) {
    const Json row = result(
        "bonded-port",
        {"workload.size=16MiB", "communication.queue_pairs=" + std::to_string(pairs)})["rows"][0];
    EXPECT_DOUBLE_EQ(row["setup_us"].get<double>(),
                     2 * (pairs + 1) * 1000.0 + 130 + 256 * 0.75 + 130 + 512 * 0.75)
        << pairs;
  }
}

// One message at a time, by four queue pairs of which three share a port: in turns each takes all
// of one port's time, in parts three quarters of it.
TEST(BondedPort, CarriesOneMessageByBothPortsInParts) {
  const std::vector<std::string> turns{"workload.size=16MiB", "communication.slots=1",
                                       "communication.queue_pairs=4"};
  std::vector<std::string> parts = turns;
  parts.emplace_back("communication.split_over_queue_pairs=true");
  const double port = 128 * 4178 / 12.5e9;
  EXPECT_NEAR(seconds("bonded-port", turns) - seconds("bonded-port", parts), 32 * port / 4,
              0.02 * 32 * port);
}

// PCIe 5 x16, 3 % of which are DLLPs. The uplink's narrower direction carries what leaves in
// completions of 256 B (20 more each) and what comes in writes of 256 B (24 more).
constexpr double kPcie5 = 32e9 * 16 * 128 / 130 / 8 * 0.97;
TEST(AcsOn, HalvesTheUplink) {
  const double size = 256 << 20;
  const double on = seconds("acs-on", {});
  EXPECT_NEAR(on, size * (276 + 280) / 256 / kPcie5, 0.02 * on);
  const double off = seconds("acs-on", {"cluster.node.pcie_settings.acs=false"});
  EXPECT_NEAR(off, size / kNdr, 0.02 * off);
}

// Down the uplink: reads of host memory by NIC and copy engine, 64 B with 20 more each. That is the
// least; stages that wait for each other take some more.
TEST(GpuDirectOff, PassesTheUplinkTwice) {
  const double least = (256 << 20) * 2.0 * 84 / 64 / kPcie5;
  const double off = seconds("gpudirect-off", {});
  EXPECT_GT(off, least);
  EXPECT_LT(off, 1.2 * least);
  EXPECT_NEAR(seconds("gpudirect-off", {"communication.gpudirect=auto"}), (256 << 20) / kNdr,
              0.02 * (256 << 20) / kNdr);
}

// Each NIC at its rate where each pair has a switch; staged, both pairs share the one uplink, and
// with threads at the other socket the socket link, which then carries each way what both GPUs and
// both NICs move to or from host memory. Beside the 120 and 160 Gb/s of the article: 75, 93, 198.
TEST(SixtyPercent, IsLostToAnUplinkAndToThreads) {
  const std::string repaired =
      "cluster.node.pcie=[{switch: sw0, parent: socket0, link: gen4x16, devices: [gpu0, nic0]},"
      "{switch: sw1, parent: socket0, link: gen4x16, devices: [gpu1, nic1]}]";
  const std::string size = "workload.size=256MiB";
  const double sent = 1.5 * (256 << 20) / 2;
  const double rate = 25e9 * 4096 / 4122;
  const double both = sent / seconds("sixty-percent", {size, repaired, "cluster.faults=[]"});
  EXPECT_NEAR(both / rate, 1, 0.01);
  // Two copies to the GPUs, in completions of 64 B.
  const double uplink = kPcie5 / 2 * 64 / 84 / 2;
  const double bound = sent / seconds("sixty-percent", {size, "cluster.faults=[]"});
  EXPECT_LT(bound, uplink);
  EXPECT_GT(bound, 0.96 * uplink);
  // Two GPUs and two NICs each way: all of them busy nine tenths of the time.
  const double socket_link = 41.6e9 / 4;
  const double asked = sent / seconds("sixty-percent", {size});
  EXPECT_LT(asked, socket_link);
  EXPECT_GT(asked, 0.88 * socket_link);
}

// At the least, 14 steps of messages that cost each what a flag, a post and a completion do; lines
// of LL save the completion and the flag of each step, and its thread's turn.
TEST(ManySmallGradients, CostLatencyManyTimes) {
  const Json rows = result("many-small-gradients", {})["rows"];
  const double small = rows[1]["time_us"];
  EXPECT_GT(400 * small, 20 * rows[0]["time_us"].get<double>());
  const double lines =
      seconds("many-small-gradients", {"workload.size=64KiB", "communication.protocol=ll"}) * 1e6;
  // 0.65 + 0.22 + 0.5 us a step, less 8 KiB more on wire, PCIe and in kernels of 37 GB/s.
  EXPECT_LT(small - lines, 14 * 1.37);
  EXPECT_GT(small - lines, 14 * (1.37 - 8192 * (2 / 50e3 + 2 / 55e3 + 2 / 37e3)));
}

// Two steps of four channels' four slices, each posted, awaited at both ends, and its slot returned
// and awaited: a step of the thread every time, and an interrupt where it sleeps.
TEST(ChannelsAndCores, AreBusyWithEachMessage) {
  const Json polling = result("channels-and-cores", {"communication.channels=4"})["rows"][0];
  EXPECT_DOUBLE_EQ(polling["cpu_cores"].get<double>(), 1);
  const Json asleep =
      result("channels-and-cores",
             {"communication.channels=4", "communication.completion=interrupt"})["rows"][0];
  const double busy = asleep["cpu_cores"].get<double>() * asleep["time_us"].get<double>();
  EXPECT_GT(busy, 0.9 * 2 * 16 * (5 * 0.65 + 2 * 0.075));
  EXPECT_LT(busy, 2 * 16 * 5 * (0.65 + 3.5 + 0.075));
  EXPECT_GT(asleep["time_us"].get<double>(), polling["time_us"].get<double>());
}

// One timeout on the path: 4.096 us * 2^timeout.
TEST(DecayingOptics, WaitForTheTimeout) {
  const double long_wait = seconds("decaying-optics", {});
  const double short_wait = seconds("decaying-optics", {"communication.timeout=12"});
  EXPECT_NEAR(long_wait - short_wait, 4.096e-6 * (16384 - 4096), 1e-6);
  EXPECT_LT(seconds("decaying-optics", {"cluster.faults=[]"}), 0.006);
}

// One of two ports of 100 Gb/s; and of many queue pairs most of both.
TEST(BondedPort, GivesOneQueuePairHalf) {
  constexpr double kPort = 12.5e9 * 4096 / 4178;
  const double sent = 256 << 20;
  const double one = seconds("bonded-port", {});
  EXPECT_NEAR(sent / one / kPort, 1, 0.01);
  const double many = seconds("bonded-port", {"communication.queue_pairs=32"});
  EXPECT_GT(sent / many / kPort, 1.5);
  EXPECT_LE(sent / many / kPort, 2);
}

// Whoever asks what would help is told what the scenario is about, among the first three.
TEST(PracticeExplained, NamesWhatHelps) {
  const struct {
    const char* scenario;
    const char* size;
    const char* helps;
  } cases[] = {{"roce-mtu-1024", "64MiB", "cluster.network.port_mtu=9000B"},
               {"bonded-port", "64MiB", "communication.queue_pairs=16"},
               {"parameter-server", nullptr, "communication.algorithm=ring"},
               {"whole-chunks", nullptr, "communication.slots=8"},
               {"acs-on", "64MiB", "cluster.node.pcie_settings.acs=false"},
               {"gpudirect-off", "64MiB", "communication.gpudirect=on"},
               {"static-collision", "96MiB", "cluster.network.routing=adaptive"},
               {"wan-ring", "64MiB", "communication.slots=8"},
               {"registration-per-transfer", "64MiB", "communication.registration=once"},
               {"many-small-gradients", nullptr, "communication.protocol=ll"},
               {"sixty-percent", "32MiB", "cluster.faults=[]"},
               {"traffic-class-0", "32MiB", "communication.traffic_class=auto"},
               {"pfc-misconfigured", "32MiB", "cluster.faults=[]"},
               {"decaying-optics", "64MiB", "cluster.faults=[]"}};
  for (const auto& c : cases) {
    std::vector<std::string> arguments{"explain", c.scenario, "--top", "3", "--progress", "off"};
    if (c.size != nullptr) {
      arguments.insert(arguments.end(), {"--set", std::string("workload.size=") + c.size});
    }
    const ProgramRun run = run_program(arguments);
    EXPECT_EQ(run.status, 0) << run.err;
    const auto helps = run.out.find("What would help");
    const auto after = run.out.find("See it yourself");
    ASSERT_NE(helps, std::string::npos) << c.scenario;
    EXPECT_THAT(run.out.substr(helps, after - helps), testing::HasSubstr(c.helps)) << c.scenario;
  }
}

// 64 B from GPU to GPU over one HDR switch, with the devices that are shipped: doorbell 0.15 to 0.3
// us, work request 0.35, read of the GPU 1.0, NICs 0.2 each, switch 0.13, write 0.3; some 2.3 in
// all, give or take 40 %. The sender has heard of it then; kernels and their flags apart.
TEST(SmallWrite, IsWithinItsBudget) {
  const double time = seconds(
      "quick",
      {"workload={collective: send_recv, size: 64B}", "communication={channels: 1}",
       "cluster={nodes: 2, node: dgx-a100, network: hdr, "
       "ranks_per_node: 1}",
       "cluster.node.gpus.model.kernel_launch=0ns", "cluster.node.gpus.model.flag_latency=0ns"});
  EXPECT_NEAR(time * 1e6, 2.3, 0.4 * 2.3);
}

// Of 16 channels, each crosses between the nodes twice, by 16 NICs in all: a queue pair for data
// and one for credits each time, at both ends. A rank receives twice into eight slots of 512 KiB.
TEST(Quick, TakesMultiprocessorsQueuePairsAndMemory) {
  const Json row = result("quick", {})["rows"][0];
  EXPECT_EQ(row["channels"], 16);
  EXPECT_EQ(row["gpu_sms"], 16);
  EXPECT_EQ(row["queue_pairs"], 16 * 2 * 2 * 2);
  EXPECT_EQ(row["queue_pairs_per_nic"], 16 * 2 * 2 * 2 / 16);
  EXPECT_EQ(row["registered_bytes"], (64 << 20) + 2 * 8 * (512 << 10));
}

// Eight messages through the server's port, where nothing is lost; else so many ACK timeouts of
// 4.096 us * 2^20 as were on the way, and not many times the message beside them.
TEST(LossyEthernet, CostsWholeAckTimeouts) {
  const std::string size = "workload.size=32MiB";
  const double lossless = 8.0 * (32 << 20) / (50e9 * 4096 / 4178);
  const double timeout = 4.096e-6 * (1 << 20);
  const struct {
    const char* scenario;
    const char* mended;
  } cases[] = {{"traffic-class-0", "communication.traffic_class=106"},
               {"pfc-misconfigured", "cluster.faults=[]"}};
  for (const auto& c : cases) {
    EXPECT_NEAR(seconds(c.scenario, {size, c.mended}), lossless, 0.07 * lossless) << c.scenario;
    const double lossy = seconds(c.scenario, {size});
    const double timeouts = std::floor(lossy / timeout);
    EXPECT_GE(timeouts, 1) << c.scenario;
    EXPECT_LT(lossy - timeouts * timeout, 5 * lossless) << c.scenario;
  }
}

}  // namespace
}  // namespace gradhaul

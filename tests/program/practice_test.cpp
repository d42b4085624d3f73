// Shipped scenarios of what makes real clusters slow show it, each beside its closed form.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/program/run_program.h"

namespace gradhaul {
namespace {

using Json = nlohmann::json;

// 400 Gb/s less InfiniBand's headers on packets of 4096 B, 26 B each.
constexpr double kNdr = 50e9 * 4096 / 4122;

double seconds(const std::string& scenario, const std::vector<std::string>& settings) {
  const std::string file = temporary_file("result.json");
  std::vector<std::string> arguments{"predict", scenario, "--json", file, "--progress", "off"};
  for (const std::string& setting : settings) {
    arguments.insert(arguments.end(), {"--set", setting});
  }
  const ProgramRun run = run_program(arguments);
  EXPECT_EQ(run.status, 0) << run.err;
  return Json::parse(text_of(file))["rows"][0]["time_us"].get<double>() / 1e6;
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

}  // namespace
}  // namespace gradhaul

// communication.transport: what TCP makes of the other keys.

#include <gmock/gmock.h>

#include "core/nccl_profile.h"
#include "scenarios/transport_reader.h"
#include "tests/scenarios/reading.h"

namespace gradhaul {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace)
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

Scenario tcp(const std::string& network, std::vector<std::string> settings = {}) {
  settings.push_back("cluster.network=" + network);
  settings.emplace_back("communication.transport=tcp");
  return good(kSmallScenario, settings);
}

// The headers are inside the MTU: 52 bytes, and 4 of IPoIB.
TEST(Transport, TcpCutsByWhatIsLeftOfTheMtu) {
  EXPECT_EQ(tcp("ethernet").cluster.network.mtu.count, 8948);
  EXPECT_EQ(tcp("ethernet", {"cluster.network.port_mtu=1500B"}).cluster.network.mtu.count, 1448);
  EXPECT_EQ(tcp("ndr").cluster.network.mtu.count, 4040);
  EXPECT_EQ(tcp("ndr", {"cluster.network.mtu=2048B"}).cluster.network.mtu.count, 1992);
  EXPECT_EQ(good(kSmallScenario).cluster.network.mtu.count, 4096);
}

// One key makes it a port at 1500: 1024 bytes and their headers fit, 2048 do not.
TEST(Transport, RoceCutsByTheMtuOfThePort) {
  for (const std::string network : {"roce", "roce-rails"}) {
    const auto mtu = [&](const std::string& port) {
      return good(kSmallScenario,
                  {"cluster.network=" + network, "cluster.network.port_mtu=" + port})
          .cluster.network.mtu.count;
    };
    EXPECT_EQ(mtu("1500B"), 1024);
    EXPECT_EQ(mtu("9000B"), 4096);
    EXPECT_EQ(good(kSmallScenario, {"cluster.network=" + network}).cluster.network.mtu.count, 4096);
  }
}

TEST(Transport, TcpPassesTheHost) {
  const Scenario scenario = tcp("ethernet");
  EXPECT_EQ(scenario.communication.gpudirect, GpuDirect::kOff);
  EXPECT_EQ(scenario.cluster.network.tcp, TcpSettings{});
  EXPECT_EQ(scenario.cluster.network.tcp, scenario.communication.tcp);
  EXPECT_THAT(scenario.model_notes, Contains(HasSubstr("8948B in a packet")));
  EXPECT_FALSE(good(kSmallScenario).cluster.network.tcp);
}

TEST(Transport, TcpWithoutOffloadsCostsByThePacket) {
  const TcpSettings read =
      *tcp("ethernet", {"communication.tcp={offloads: false, cores: 3}"}).communication.tcp;
  EXPECT_EQ(read.cores, 3);
  EXPECT_EQ(read.aggregate.ps, 0);
  EXPECT_EQ(read.packet, 1'050_ns);
}

// NCCL's thread has its step in the system calls, and its choices are not made.
TEST(Transport, TcpTakesNcclsProfileWithNamedPlans) {
  const Communication plan =
      tcp("ethernet", {"communication={profile: nccl-2.30, algorithm: ring, protocol: simple}"})
          .communication;
  EXPECT_EQ(plan.thread_step.ps, 0);
  EXPECT_THAT(read_text(kSmallScenario, {"cluster.network=ethernet",
                                         "communication={transport: tcp, profile: nccl-2.30}"})
                  .problems,
              Contains(HasSubstr("name algorithm and protocol")));
}

TEST(Transport, CompanyAndLossesGoByRdma) {
  const auto problems = [](const std::string& more) {
    return read_text(std::string(kSmallScenario) + more,
                     {"cluster.network=ethernet", "communication.transport=tcp"})
        .problems;
  };
  EXPECT_THAT(problems(""), IsEmpty());
  EXPECT_THAT(read_text(kSmallScenario, {"cluster.network=ndr", "communication.transport=tcp",
                                         "cluster.faults=[{link: node0.nic0, bit_error_rate: "
                                         "1e-9}]"})
                  .problems,
              Contains(HasSubstr("nothing is lost in this version")));
}

TEST(Transport, IsTurnedIntoRdmaOrGetsMoreCores) {
  EXPECT_THAT(made_rdma(tcp("ethernet")).settings,
              UnorderedElementsAre("communication.transport=rdma", "cluster.network.kind=roce"));
  EXPECT_THAT(made_rdma(tcp("ndr")).settings, UnorderedElementsAre("communication.transport=rdma"));
  const Scenario roce =
      good(kSmallScenario, {"cluster.network=ethernet", "communication.transport=tcp",
                            "communication.transport=rdma", "cluster.network.kind=roce"});
  EXPECT_EQ(roce.cluster.network.kind, NetworkKind::kRoce);
  EXPECT_EQ(roce.cluster.network.mtu.count, 4096);
  EXPECT_THAT(made_rdma(good(kSmallScenario)).obstacle, HasSubstr("RDMA"));
  const WhatIf cores = more_cores(tcp("ndr", {"communication.tcp.cores=3"}));
  EXPECT_THAT(cores.settings,
              UnorderedElementsAre("communication.tcp.cores=6", "communication.tcp.sockets=2"));
}

}  // namespace
}  // namespace gradhaul

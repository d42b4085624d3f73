// NCCL's profiles of sends and receives: nothing is chosen, and steps are those of its point to
// point.

#include <gtest/gtest.h>

#include "tests/scenarios/reading.h"

namespace gradhaul {
namespace {

Communication plan(const std::string& collective, const std::string& more = "") {
  return good(kSmallScenario, {"workload={collective: " + collective + ", size: 1GiB}",
                               "cluster={nodes: 2, node: hgx-h100, network: ndr-rails}",
                               "communication={profile: nccl-2.30" + more + "}"})
      .communication;
}

TEST(NcclPeers, GoInEightStepsOfTheNetworksChunk) {
  for (const char* collective : {"send_recv", "all_to_all"}) {
    const Communication communication = plan(collective);
    EXPECT_FALSE(communication.choose_algorithm) << collective;
    EXPECT_FALSE(communication.choose_protocol) << collective;
    EXPECT_EQ(communication.protocol, Protocol::kSimple) << collective;
    EXPECT_EQ(communication.channels, 2) << collective;
    EXPECT_EQ(communication.slots, 8) << collective;
    EXPECT_EQ(communication.slot_size.count, 128 << 10) << collective;
    EXPECT_EQ(communication.thread_step.ps, 650'000) << collective;
  }
}

TEST(NcclPeers, KeepWhatIsAskedFor) {
  const Communication communication = plan("send_recv", ", channels: 4, slots: 3, slot_size: 1MiB");
  EXPECT_EQ(communication.channels, 4);
  EXPECT_EQ(communication.slots, 3);
  EXPECT_EQ(communication.slot_size.count, 1 << 20);
}

// What is chosen elsewhere stays to be chosen.
TEST(NcclPeers, AreNoOtherCollectives) {
  const Communication communication = plan("all_gather");
  EXPECT_TRUE(communication.choose_algorithm);
  EXPECT_TRUE(communication.choose_protocol);
  EXPECT_FALSE(communication.channels.has_value());
}

}  // namespace
}  // namespace gradhaul

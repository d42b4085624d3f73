// A device over another, as files of calibrate and scenarios say with `base`.

#include <gmock/gmock.h>

#include "tests/scenarios/reading.h"

namespace gradhaul {
namespace {

using namespace literals;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

Reading read_with_nic(const std::string& model) {
  return read_text(std::string(kSmallScenario),
                   {"cluster.node.nics.model=" + model, "cluster.network.link=100Gb/s"});
}

TEST(BaseDevice, SaysWhatAFileOverItDoesNot) {
  const NicModel base = read_with_nic("connectx-6").scenario.cluster.node.nic;
  const std::string file = temporary_file("mine.yaml");
  write_text(file, "base: connectx-6\nkind: nic\nrate: 150Gb/s\ndoorbell: 0ns\n");
  const Reading reading = read_with_nic(file);
  ASSERT_THAT(reading.problems, IsEmpty());
  const NicModel& nic = reading.scenario.cluster.node.nic;
  EXPECT_EQ(nic.name, "gradhaul_BaseDevice_SaysWhatAFileOverItDoesNot_mine");
  EXPECT_EQ(nic.rate, 150_Gbps);
  EXPECT_EQ(nic.doorbell, Duration{});
  EXPECT_EQ(nic.wqe_fetch, base.wqe_fetch);
  EXPECT_EQ(nic.pcie, base.pcie);
  EXPECT_NE(base.doorbell, Duration{});
}

TEST(BaseDevice, MayStandInAScenarioAndOverAnotherFile) {
  const std::string file = temporary_file("mine.yaml");
  write_text(file, "base: connectx-6\nkind: nic\nrate: 150Gb/s\n");
  const Reading reading = read_with_nic("{base: " + file + ", wqe_fetch: 1us}");
  ASSERT_THAT(reading.problems, IsEmpty());
  EXPECT_EQ(reading.scenario.cluster.node.nic.rate, 150_Gbps);
  EXPECT_EQ(reading.scenario.cluster.node.nic.wqe_fetch, 1_us);
}

TEST(BaseDevice, IsRefusedWhereItIsNone) {
  EXPECT_THAT(read_with_nic("{base: connectx-66}").problems,
              Contains(HasSubstr("no device is called \"connectx-66\"")));
  EXPECT_THAT(read_with_nic("{base: [connectx-6]}").problems,
              Contains(HasSubstr("the name or the path")));
  EXPECT_THAT(read_with_nic("{base: h100-sxm}").problems, Contains(HasSubstr("a nic is meant")));
  const std::string file = temporary_file("round.yaml");
  write_text(file, "base: " + file + "\nkind: nic\n");
  EXPECT_THAT(read_with_nic(file).problems, Contains(HasSubstr("does one name itself?")));
}

}  // namespace
}  // namespace gradhaul

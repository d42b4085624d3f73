#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "backends/verbs/rdma_ports.h"
#include "backends/verbs/rdma_rail.h"
#include "tests/fake_verbs/joined_ranks.h"

namespace gradhaul {
namespace {

using fake::FakeDeviceSpec;
using fake::FakeFabric;
using fake::FakeVerbs;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

FakeDeviceSpec device(const std::string& name, const std::string& pci_path) {
  FakeDeviceSpec spec = fake::roce_host(0);
  spec.name = name;
  spec.pci_path = pci_path;
  return spec;
}

std::vector<std::string> names(const PortSurvey& survey) {
  std::vector<std::string> found;
  for (const VerbsPort& port : survey.usable) found.push_back(port.name());
  return found;
}

TEST(DeviceFilter, ReadsTheListsOfNccl) {
  EXPECT_TRUE(DeviceFilter("").takes("mlx5_0", 1));
  EXPECT_TRUE(DeviceFilter("mlx5").takes("mlx5_10", 2));
  EXPECT_TRUE(DeviceFilter("mlx5_1").takes("mlx5_10", 1));
  EXPECT_FALSE(DeviceFilter("=mlx5_1").takes("mlx5_10", 1));
  EXPECT_TRUE(DeviceFilter("=mlx5_1,mlx5_10").takes("mlx5_10", 1));
  EXPECT_FALSE(DeviceFilter("=mlx5_1:2").takes("mlx5_1", 1));
  EXPECT_TRUE(DeviceFilter("=mlx5_1:2").takes("mlx5_1", 2));
  EXPECT_FALSE(DeviceFilter("^mlx5_1").takes("mlx5_1", 1));
  EXPECT_TRUE(DeviceFilter("^=mlx5_1").takes("mlx5_10", 1));
  EXPECT_THROW(DeviceFilter("mlx5_0:x"), VerbsError);
  EXPECT_THROW(DeviceFilter("mlx5_0:0"), VerbsError);
}

TEST(PortSurvey, OrdersByWhereDevicesHang) {
  FakeFabric fabric;
  FakeVerbs verbs(
      fabric, {device("mlx5_1", "/pci/2"), device("mlx5_0", "/pci/3"), device("mlx5_2", "/pci/1")});
  EXPECT_THAT(names(survey_ports(verbs, DeviceFilter(""))),
              ElementsAre("mlx5_2 port 1", "mlx5_1 port 1", "mlx5_0 port 1"));
}

TEST(PortSurvey, SaysWhyAPortIsSkipped) {
  FakeFabric fabric;
  FakeDeviceSpec two_ports = device("mlx5_0", "/pci/0");
  two_ports.ports.push_back(two_ports.ports.front());
  two_ports.ports[0].state = IBV_PORT_DOWN;
  two_ports.ports[0].physical_state = 2;
  FakeDeviceSpec no_manager = device("mlx5_1", "/pci/1");
  no_manager.ports[0].link_layer = IBV_LINK_LAYER_INFINIBAND;
  no_manager.ports[0].state = IBV_PORT_INIT;
  FakeDeviceSpec locked = device("mlx5_2", "/pci/2");
  locked.open_error = EACCES;
  FakeVerbs verbs(fabric, {two_ports, no_manager, locked, device("mlx4_0", "/pci/3")});
  const PortSurvey survey = survey_ports(verbs, DeviceFilter("mlx5"));
  EXPECT_THAT(names(survey), ElementsAre("mlx5_0 port 2"));
  EXPECT_THAT(survey.skipped,
              ElementsAre(HasSubstr("mlx5_0 port 1: DOWN (Polling), not ACTIVE: its network "
                                    "interface is down"),
                          HasSubstr("mlx5_1 port 1: INIT (LinkUp), not ACTIVE: the link is up, and "
                                    "no subnet manager"),
                          HasSubstr("mlx5_2: can't be opened: Permission denied")));
  EXPECT_THAT(survey.left_out, ElementsAre("mlx4_0 port 1: left out by the list of devices"));
}

TEST(Mtu, CodesAreThoseOfTheStandard) {
  EXPECT_EQ(mtu_bytes(IBV_MTU_256), 256);
  EXPECT_EQ(mtu_bytes(IBV_MTU_4096), 4096);
  EXPECT_EQ(mtu_of(4096), IBV_MTU_4096);
  EXPECT_EQ(mtu_of(4095), IBV_MTU_2048);
  EXPECT_EQ(mtu_of(1500), IBV_MTU_1024);
  EXPECT_EQ(mtu_of(9000), IBV_MTU_4096);
}

std::string rails_error(const std::vector<FakeDeviceSpec>& devices,
                        const VerbsSettings& settings = {}) {
  FakeFabric fabric;
  FakeVerbs verbs(fabric, devices);
  std::vector<std::string> notes;
  try {
    static_cast<void>(open_rails(verbs, settings, notes));
  } catch (const VerbsError& error) {
    return error.what();
  }
  return "";
}

TEST(RdmaRail, WithoutADeviceSaysWhatItWouldTake) {
  EXPECT_THAT(rails_error({}), HasSubstr("there is no RDMA device. It would take"));
  FakeDeviceSpec down = device("mlx5_0", "/pci/0");
  down.ports[0].state = IBV_PORT_DOWN;
  EXPECT_THAT(rails_error({down}), HasSubstr("no RDMA port can be used; mlx5_0 port 1: DOWN"));
}

TEST(RdmaRail, ChecksPartitionKeys) {
  FakeDeviceSpec keys = device("mlx5_0", "/pci/0");
  keys.ports[0].pkeys = {0xffff, 0x0000, 0x1234};
  VerbsSettings settings;
  settings.traffic_class = 106;
  for (const int index : {1, 3}) {
    settings.pkey_index = index;
    EXPECT_THAT(rails_error({keys}, settings), HasSubstr("no partition key at index"));
  }
  settings.pkey_index = 2;
  FakeFabric fabric;
  FakeVerbs verbs(fabric, {keys});
  std::vector<std::string> notes;
  EXPECT_EQ(open_rails(verbs, settings, notes).front().pkey, 0x1234);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("limited member of its partition")));
}

TEST(RdmaRail, NotesTrafficClassZeroOnRoceAndASmallMtu) {
  FakeDeviceSpec narrow = device("mlx5_0", "/pci/0");
  narrow.ports[0].active_mtu = IBV_MTU_1024;
  FakeFabric fabric;
  FakeVerbs verbs(fabric, {narrow});
  std::vector<std::string> notes;
  static_cast<void>(open_rails(verbs, {}, notes));
  EXPECT_THAT(notes, ElementsAre(HasSubstr("traffic class 0 on RoCE"),
                                 HasSubstr("active MTU 1024 of 4096: follows the interface")));
  notes.clear();
  VerbsSettings settings;
  settings.traffic_class = 106;
  FakeVerbs wide(fabric, {device("mlx5_0", "/pci/0")});
  static_cast<void>(open_rails(wide, settings, notes));
  EXPECT_THAT(notes, IsEmpty());
}

}  // namespace
}  // namespace gradhaul

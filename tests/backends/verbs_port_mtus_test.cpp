// The MTUs of RDMA ports, which verbs alone tell: here a fake library beside copied trees.

#include <gmock/gmock.h>

#include <cerrno>

#include "backends/doctor/examine_host.h"
#include "backends/verbs/port_mtus.h"
#include "tests/backends/sample_machines.h"
#include "tests/fake_verbs/fake_verbs.h"

namespace gradhaul {
namespace {

using fake::FakeDeviceSpec;
using fake::FakeFabric;
using fake::FakeVerbs;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// mlx5_0 … mlx5_7, each with a port of these MTUs.
std::vector<FakeDeviceSpec> eight_ports(ibv_mtu active, std::uint8_t layer) {
  std::vector<FakeDeviceSpec> specs(8);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    specs[i].name = "mlx5_" + std::to_string(i);
    specs[i].ports[0].active_mtu = active;
    specs[i].ports[0].link_layer = layer;
  }
  return specs;
}

HostCheckup look_at(const SampleHost& host, std::vector<FakeDeviceSpec> specs) {
  FakeFabric fabric;
  FakeVerbs verbs(fabric, std::move(specs));
  const auto no_nvml = [](std::string& why_not) -> std::unique_ptr<NvmlLibrary> {
    why_not = "not asked";
    return nullptr;
  };
  const HostSnapshot snapshot =
      take_snapshot(HostTree(host.root()), no_nvml, [&] { return ask_for_mtus(verbs); });
  return examine_host(snapshot, nullptr, 0);
}

std::vector<Finding> mtu_findings(const HostCheckup& checkup) {
  std::vector<Finding> found;
  for (const Finding& finding : checkup.findings) {
    if (finding.id.find("mtu") != std::string::npos) found.push_back(finding);
  }
  return found;
}

const auto kUnseenMtu = Field(&Unseen::what, HasSubstr("MTU"));

TEST(PortMtus, AreThoseOfActivePorts) {
  FakeFabric fabric;
  std::vector<FakeDeviceSpec> specs = eight_ports(IBV_MTU_2048, IBV_LINK_LAYER_INFINIBAND);
  specs.resize(3);
  specs[1].open_error = EACCES;
  specs[2].ports[0].state = IBV_PORT_DOWN;
  FakeVerbs verbs(fabric, specs);
  const AskedMtus asked = ask_for_mtus(verbs);
  ASSERT_EQ(asked.ports.size(), 1U);
  EXPECT_EQ(asked.ports[0].device, "mlx5_0");
  EXPECT_EQ(asked.ports[0].active, 2048);
  EXPECT_EQ(asked.ports[0].most, 4096);
  EXPECT_THAT(asked.missing, ElementsAre(HasSubstr("mlx5_1: can't be opened: Permission denied"),
                                         HasSubstr("mlx5_2 port 1: DOWN")));
}

TEST(PortMtus, OfInfiniBandAreSeenAndJudged) {
  const auto host = hgx_h100();
  const HostCheckup full = look_at(*host, eight_ports(IBV_MTU_4096, IBV_LINK_LAYER_INFINIBAND));
  EXPECT_THAT(mtu_findings(full), IsEmpty());
  EXPECT_THAT(full.unseen, Not(Contains(kUnseenMtu)));
  const auto found =
      mtu_findings(look_at(*host, eight_ports(IBV_MTU_2048, IBV_LINK_LAYER_INFINIBAND)));
  ASSERT_EQ(found.size(), 8U);
  EXPECT_EQ(found[0].id, "port-mtu");
  EXPECT_EQ(found[0].severity, Severity::kWarning);
  EXPECT_EQ(found[0].subject, "mlx5_0 port 1");
  EXPECT_EQ(found[0].seen, "its packets have 2048 bytes, and it could 4096");
  // 2048 of 2074 bytes, and 4096 of 4122.
  EXPECT_THAT(found[0].why, HasSubstr("98.7 % of the wire is payload, where 99.4 % could be"));
}

TEST(PortMtus, ThatAreNotToldAreUnseen) {
  const auto host = hgx_h100();
  std::vector<FakeDeviceSpec> specs = eight_ports(IBV_MTU_4096, IBV_LINK_LAYER_INFINIBAND);
  specs[3].open_error = EACCES;
  EXPECT_THAT(look_at(*host, specs).unseen,
              Contains(testing::AllOf(
                  kUnseenMtu, Field(&Unseen::reason, HasSubstr("mlx5_3: can't be opened")))));
  EXPECT_THAT(
      examine_host(take_snapshot(HostTree(host->root())), nullptr, 0).unseen,
      Contains(testing::AllOf(kUnseenMtu, Field(&Unseen::reason, HasSubstr("a copied tree")))));
  // No verbs, where there is no RDMA device.
  EXPECT_THAT(look_at(*workstation(), {}).unseen, Not(Contains(kUnseenMtu)));
}

// Interfaces have 9000 there.
TEST(PortMtus, OfRoceAreComparedWithTheInterfaces) {
  const auto host = hgx_h200_roce();
  std::vector<FakeDeviceSpec> specs = eight_ports(IBV_MTU_4096, IBV_LINK_LAYER_ETHERNET);
  EXPECT_THAT(mtu_findings(look_at(*host, specs)), IsEmpty());
  specs[2].ports[0].active_mtu = IBV_MTU_1024;
  const auto behind = mtu_findings(look_at(*host, specs));
  ASSERT_EQ(behind.size(), 2U);
  EXPECT_THAT(behind, Contains(Field(&Finding::id, "roce-mtu-differs")));
  EXPECT_THAT(behind,
              Contains(testing::AllOf(Field(&Finding::id, "roce-mtu-apart"),
                                      Field(&Finding::subject, "mlx5_2 port 1"),
                                      Field(&Finding::seen,
                                            "RDMA's packets have 1024 bytes, and the MTU of "
                                            "eth2, 9000, is one for 4096"))));
}

TEST(PortMtus, OfRoceMayBeTooLargeForTheInterface) {
  const auto host = hgx_h200_roce();
  for (int i = 0; i < 8; ++i) {
    host->write("/sys/class/net/eth" + std::to_string(i) + "/mtu", "1500\n");
  }
  const auto small =
      mtu_findings(look_at(*host, eight_ports(IBV_MTU_1024, IBV_LINK_LAYER_ETHERNET)));
  ASSERT_EQ(small.size(), 8U);
  EXPECT_EQ(small[0].id, "roce-mtu");
  const auto large =
      mtu_findings(look_at(*host, eight_ports(IBV_MTU_4096, IBV_LINK_LAYER_ETHERNET)));
  ASSERT_EQ(large.size(), 8U);
  EXPECT_EQ(large[0].id, "roce-mtu-apart");
  EXPECT_THAT(large[0].why, HasSubstr("Packets are longer than the interface takes"));
}

}  // namespace
}  // namespace gradhaul

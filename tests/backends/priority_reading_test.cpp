// Which priorities PFC protects: as dcb prints it, and as the kernel answers. And what comes of it.

#include <gmock/gmock.h>
#include <linux/dcbnl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include <cstring>

#include "backends/doctor/examine_host.h"
#include "backends/host/priority_reader.h"
#include "tests/backends/netlink_messages.h"
#include "tests/backends/sample_machines.h"

namespace gradhaul {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

// As net/dcb/dcbnl.c builds it: name, then the settings of IEEE 802.1Qaz.
NetlinkMessage answer(unsigned pfc, const std::vector<dcb_app>& applications) {
  ieee_pfc flow{};
  flow.pfc_cap = 8;
  flow.pfc_en = static_cast<std::uint8_t>(pfc);
  NetlinkMessage flow_bytes;
  append_bytes(flow_bytes, &flow, sizeof flow);
  NetlinkMessage table;
  for (const dcb_app& application : applications) {
    NetlinkMessage entry(sizeof application);
    std::memcpy(entry.data(), &application, sizeof application);
    table = joined_messages({table, netlink_attribute(DCB_ATTR_IEEE_APP, entry)});
  }
  const NetlinkMessage body = joined_messages(
      {netlink_attribute(DCB_ATTR_IFNAME, NetlinkMessage(5)),
       netlink_attribute(DCB_ATTR_IEEE,
                         joined_messages({netlink_attribute(DCB_ATTR_IEEE_PFC, flow_bytes),
                                          netlink_attribute(DCB_ATTR_IEEE_APP_TABLE, table)}))});
  nlmsghdr header{};
  header.nlmsg_type = RTM_GETDCB;
  header.nlmsg_len = static_cast<std::uint32_t>(sizeof header + sizeof(dcbmsg) + body.size());
  dcbmsg command{};
  command.cmd = DCB_CMD_IEEE_GET;
  NetlinkMessage message;
  append_bytes(message, &header, sizeof header);
  append_bytes(message, &command, sizeof command);
  return joined_messages({message, body});
}

const std::vector<dcb_app> kByDscp{{IEEE_8021QAZ_APP_SEL_DSCP, 3, 26},
                                   {IEEE_8021QAZ_APP_SEL_ETHERTYPE, 5, 24},
                                   {IEEE_8021QAZ_APP_SEL_DSCP, 6, 48}};

TEST(Priorities, AreReadFromWhatTheKernelAnswers) {
  const auto read = parse_dcb_answer(answer(0x48, kByDscp));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->pfc, 0x48U);
  EXPECT_THAT(read->of_dscp, ElementsAre(Pair(26, 3), Pair(48, 6)));
  nlmsghdr refusal{};
  refusal.nlmsg_type = NLMSG_ERROR;
  refusal.nlmsg_len = sizeof refusal;
  NetlinkMessage error;
  append_bytes(error, &refusal, sizeof refusal);
  EXPECT_FALSE(parse_dcb_answer(error));
  EXPECT_FALSE(parse_dcb_answer({}));
}

// Whatever comes, nothing beyond it is read: the sanitizers look on.
TEST(Priorities, OfADamagedAnswerDoNoHarm) {
  const NetlinkMessage whole = answer(0x08, kByDscp);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const NetlinkMessage cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_FALSE(parse_dcb_answer(cut)) << length;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int value : {0, 1, 0x7f, 0xff}) {
      NetlinkMessage damaged = whole;
      damaged[at] = static_cast<std::byte>(value);
      const auto read = parse_dcb_answer(damaged);
      if (!read) continue;
      EXPECT_LE(read->pfc, 0xffU);
    }
  }
}

TEST(Priorities, AreReadFromWhatDcbPrints) {
  const auto read = parse_dcb_text(
      "pfc-cap 8 macsec-bypass off delay 0\n"
      "prio-pfc 0:off 1:off 2:off 3:on 4:off 5:off 6:on 7:off\n");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->pfc, 1U << 3 | 1U << 6);
  EXPECT_FALSE(parse_dcb_text("prio-pfc 0:off 1:off"));  // cut off
  EXPECT_FALSE(parse_dcb_text("prio-pfc 0:off 1:off 2:off 3:on 4:off 5:off 6:on 9:off"));
  EXPECT_FALSE(parse_dcb_text("Error: interface not found\n"));
}

class RoceHost : public testing::Test {
 protected:
  RoceHost() : snapshot_(take_snapshot(HostTree(host_->root()))) {}
  // Of eth0, whose traffic class is 106, DSCP 26.
  std::vector<Finding> faults(const PortPriorities& priorities) {
    for (NetDevice& device : snapshot_.host.net) {
      if (device.name == "eth0") device.priorities = priorities;
    }
    std::vector<Finding> found = examine_host(snapshot_, nullptr, 0).findings;
    std::erase_if(found,
                  [](const Finding& finding) { return finding.severity == Severity::kFact; });
    return found;
  }
  SampleHostPtr host_ = hgx_h200_roce();
  HostSnapshot snapshot_;
};

TEST_F(RoceHost, IsWellWhereItsPriorityIsProtected) {
  EXPECT_THAT(faults({.pfc = 1U << 3, .of_dscp = {{26, 3}}}), IsEmpty());
  // By what priority it goes is not told: nothing is said of it.
  EXPECT_THAT(faults({.pfc = 1U << 5, .of_dscp = {}}), IsEmpty());
}

TEST_F(RoceHost, IsWarnedWhereAnotherPriorityIs) {
  const std::vector<Finding> found = faults({.pfc = 1U << 5, .of_dscp = {{26, 3}}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].id, "roce-pfc-other-priority");
  EXPECT_EQ(found[0].seen,
            "its traffic class 106 (DSCP 26) goes by priority 3 of eth0, and PFC protects "
            "priority 5");
  EXPECT_THAT(found[0].command, HasSubstr("dcb pfc show dev eth0"));
  // What has no entry goes by priority 0.
  EXPECT_THAT(faults({.pfc = 1U << 5, .of_dscp = {{48, 6}}})[0].seen, HasSubstr("by priority 0"));
}

}  // namespace
}  // namespace gradhaul

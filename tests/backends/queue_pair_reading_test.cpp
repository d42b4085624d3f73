// Queue pairs of a host: as the kernel answers, as `rdma resource show qp` prints them, and which
// of the sources counts.

#include <gmock/gmock.h>
#include <rdma/rdma_netlink.h>

#include <cerrno>

#include "backends/doctor/examine_host.h"
#include "backends/host/queue_pair_reader.h"
#include "tests/backends/netlink_messages.h"
#include "tests/backends/sample_machines.h"

namespace gradhaul {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Of include/rdma/ib_verbs.h.
constexpr std::uint8_t kReliable = 2;
constexpr std::uint8_t kInit = 1;
constexpr std::uint8_t kReadyToSend = 3;
constexpr int kOfPairs = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_RES_QP_GET);
constexpr int kOfDevices = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET);

NetlinkMessage handle(std::uint32_t index, const std::string& name) {
  return joined_messages({netlink_number(RDMA_NLDEV_ATTR_DEV_INDEX, index),
                          netlink_text(RDMA_NLDEV_ATTR_DEV_NAME, name)});
}

// As fill_res_qp_entry() of drivers/infiniband/core/nldev.c writes it; `owner` is a pid or a name.
NetlinkMessage pair_entry(std::uint32_t number, std::uint8_t type, std::uint8_t state,
                          const NetlinkMessage& owner) {
  return netlink_attribute(
      RDMA_NLDEV_ATTR_RES_QP_ENTRY,
      joined_messages({netlink_number(RDMA_NLDEV_ATTR_PORT_INDEX, std::uint32_t{1}),
                       netlink_number(RDMA_NLDEV_ATTR_RES_LQPN, number),
                       netlink_number(RDMA_NLDEV_ATTR_RES_SQ_PSN, std::uint32_t{0}),
                       netlink_number(RDMA_NLDEV_ATTR_RES_TYPE, type),
                       netlink_number(RDMA_NLDEV_ATTR_RES_STATE, state), owner}));
}

NetlinkMessage pairs_message() {
  return netlink_message(
      kOfPairs,
      joined_messages(
          {handle(3, "rxe0"),
           netlink_attribute(
               RDMA_NLDEV_ATTR_RES_QP,
               joined_messages(
                   {pair_entry(1, 1, kReadyToSend,
                               netlink_text(RDMA_NLDEV_ATTR_RES_KERN_NAME, "ib_core")),
                    pair_entry(17, kReliable, kInit,
                               netlink_number(RDMA_NLDEV_ATTR_RES_PID, std::uint32_t{4711}))}))}));
}

NetlinkMessage end_message(int type, int code) {
  NetlinkMessage body;
  append_bytes(body, &code, sizeof code);
  return netlink_message(type, body);
}

TEST(QueuePairs, AreReadFromWhatTheKernelAnswers) {
  RdmaAnswer answer;
  parse_rdma_answer(joined_messages({pairs_message(), end_message(NLMSG_DONE, 0)}), answer);
  EXPECT_TRUE(answer.ended);
  EXPECT_EQ(answer.error, 0);
  ASSERT_EQ(answer.pairs.size(), 2U);
  EXPECT_EQ(answer.pairs[0].pair.type, "GSI");
  EXPECT_EQ(answer.pairs[0].pair.state, "RTS");
  EXPECT_EQ(answer.pairs[0].kernel, "ib_core");
  EXPECT_EQ(answer.pairs[0].process, 0U);
  EXPECT_EQ(answer.pairs[1].pair.device, "rxe0");
  EXPECT_EQ(answer.pairs[1].pair.number, "17");
  EXPECT_EQ(answer.pairs[1].pair.type, "RC");
  EXPECT_EQ(answer.pairs[1].pair.state, "INIT");
  EXPECT_EQ(answer.pairs[1].process, 4711U);
}

TEST(QueuePairs, OfEachDeviceHaveItsNumberFromTheKernel) {
  RdmaAnswer answer;
  parse_rdma_answer(joined_messages({netlink_message(kOfDevices, handle(0, "rxe0")),
                                     netlink_message(kOfDevices, handle(7, "mlx5_1"))}),
                    answer);
  EXPECT_FALSE(answer.ended);
  ASSERT_EQ(answer.devices.size(), 2U);
  EXPECT_EQ(answer.devices[1].index, 7U);
  EXPECT_EQ(answer.devices[1].name, "mlx5_1");
}

TEST(QueuePairs, ARefusalOfTheKernelIsAnError) {
  RdmaAnswer answer;
  parse_rdma_answer(end_message(NLMSG_ERROR, -EOPNOTSUPP), answer);
  EXPECT_TRUE(answer.ended);
  EXPECT_EQ(answer.error, EOPNOTSUPP);
  EXPECT_THAT(answer.pairs, IsEmpty());
}

// Whatever comes, nothing beyond it is read: the sanitizers look on.
TEST(QueuePairs, OfADamagedAnswerDoNoHarm) {
  const NetlinkMessage whole = pairs_message();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const NetlinkMessage cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    RdmaAnswer answer;
    parse_rdma_answer(cut, answer);
    EXPECT_THAT(answer.pairs, IsEmpty()) << length;
    EXPECT_FALSE(answer.ended) << length;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int value : {0, 1, 2, 3, 0x7f, 0xff}) {
      NetlinkMessage damaged = whole;
      damaged[at] = static_cast<std::byte>(value);
      RdmaAnswer answer;
      parse_rdma_answer(damaged, answer);
      EXPECT_LE(answer.pairs.size(), 2U);
      for (const RdmaAnswer::Owned& owned : answer.pairs) {
        EXPECT_THAT(owned.pair.state, testing::AnyOf("RESET", "INIT", "RTR", "RTS"));
      }
    }
  }
}

// A name that claims to be longer than its attribute, or would write over the terminal.
TEST(QueuePairs, OfADeviceWithoutAProperNameAreNone) {
  for (const std::string& name : {std::string("rxe\x1b[2J"), std::string("rxe0 x")}) {
    RdmaAnswer answer;
    parse_rdma_answer(netlink_message(kOfDevices, handle(0, name)), answer);
    EXPECT_THAT(answer.devices, IsEmpty());
  }
  RdmaAnswer answer;
  parse_rdma_answer(
      netlink_message(kOfDevices,
                      joined_messages({netlink_number(RDMA_NLDEV_ATTR_DEV_INDEX, std::uint32_t{0}),
                                       netlink_attribute(RDMA_NLDEV_ATTR_DEV_NAME, "rxe0", 4)})),
      answer);
  EXPECT_THAT(answer.devices, IsEmpty());
}

std::vector<std::string> told(const std::vector<HostQueuePair>& pairs) {
  std::vector<std::string> texts;
  for (const HostQueuePair& pair : pairs) {
    texts.push_back(pair.device + " " + pair.number + " " + pair.type + " " + pair.state + " of " +
                    pair.owner);
  }
  return texts;
}

// Lines of iproute2's own history (its commits "rdma: Properly print device and link names" and
// "RDMA/restrack: Support all QP types"), which changed how the kernel's are printed.
TEST(QueuePairs, AreReadFromWhatRdmaPrints) {
  EXPECT_THAT(
      told(parse_rdma_text(
          "link mlx5_0/- lqpn 1 type GSI state RTS sq-psn 0 comm [ib_core] \n"
          "link mlx5_0/1 lqpn 261 type UD state RTS sq-psn 0 comm ib_core\n"
          "link ibp0s9/1 lqpn 42 type XRC_TGT state INIT sq-psn 0 path-mig-state MIGRATED comm "
          "[ib_uverbs] \n"
          "link ibp0s9/1 lqpn 43 type XRC_INI state INIT sq-psn 0 path-mig-state MIGRATED pdn 197 "
          "pid 419 comm ibv_xsrq_pingpong \n"
          "link rxe0/1 lqpn 17 rqpn 18 type RC state ERR rq-psn 4 sq-psn 9 comm my job pid 5 \n")),
      ElementsAre("mlx5_0 1 GSI RTS of the kernel (ib_core)",
                  "mlx5_0 261 UD RTS of the kernel (ib_core)",
                  "ibp0s9 42 XRC_TGT INIT of the kernel (ib_uverbs)",
                  "ibp0s9 43 XRC_INI INIT of ibv_xsrq_pingpong, pid 419",
                  "rxe0 17 RC ERR of my job, pid 5"));
  EXPECT_THAT(parse_rdma_text("Failed to open NETLINK_RDMA socket\n\nlink\nlink x\n"
                              "link rxe0/1 lqpn many type RC state INIT\nlink rxe0/1 lqpn 3\n"),
              IsEmpty());
}

HostCheckup look_at(const SampleHost& host) {
  return examine_host(take_snapshot(HostTree(host.root())), nullptr, 0);
}

const Finding* find(const HostCheckup& checkup, const std::string& id) {
  for (const Finding& finding : checkup.findings) {
    if (finding.id == id) return &finding;
  }
  return nullptr;
}

std::vector<Unseen> unseen_pairs(const HostCheckup& checkup) {
  std::vector<Unseen> found = checkup.unseen;
  std::erase_if(found, [](const Unseen& each) { return !each.what.starts_with("queue pairs"); });
  return found;
}

TEST(StuckQueuePairs, AreNamedWithTheirOwner) {
  const auto host = broadcom_host();
  EXPECT_THAT(unseen_pairs(look_at(*host)), IsEmpty());
  host->write("/rdma/qp",
              "link bnxt_re0/1 lqpn 7 type RC state RESET sq-psn 0 pid 4711 comm python3 \n"
              "link bnxt_re0/1 lqpn 8 type RC state RESET sq-psn 0 pid 4711 comm python3 \n");
  const HostCheckup checkup = look_at(*host);
  const Finding* found = find(checkup, "qp-stuck");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->subject, "bnxt_re0");
  EXPECT_EQ(found->seen, "2 queue pairs in RESET, of python3, pid 4711");
  EXPECT_EQ(found->command, "rdma resource show qp");
}

// What neither source tells is said, device by device; mlx5's own files stand in for what the
// kernel does not answer, and are not counted twice where it does.
TEST(StuckQueuePairs, AreUnseenWhereNothingTellsOfThem) {
  const auto host = broadcom_host();
  host->remove("/rdma");
  const std::vector<Unseen> unseen = unseen_pairs(look_at(*host));
  ASSERT_EQ(unseen.size(), 1U);
  EXPECT_THAT(unseen[0].what, HasSubstr("of bnxt_re0,"));
  EXPECT_THAT(unseen[0].reason, HasSubstr("no such file"));
  EXPECT_THAT(unseen[0].takes, HasSubstr("rdma resource show qp > DIR/rdma/qp"));
}

TEST(StuckQueuePairs, OfMlx5AreReadFromItsDebuggingFilesWhereNothingElseTells) {
  const auto host = hgx_h100();
  host->write("/sys/kernel/debug/mlx5/0000:14:00.0/QPs/0x1a2/state", "INIT\n");
  const HostCheckup without = look_at(*host);
  ASSERT_NE(find(without, "qp-stuck"), nullptr);
  EXPECT_EQ(find(without, "qp-stuck")->subject, "mlx5_0");
  ASSERT_EQ(unseen_pairs(without).size(), 1U);
  EXPECT_THAT(unseen_pairs(without)[0].what, HasSubstr("of mlx5_1, mlx5_2"));
  host->write("/rdma/qp", "link mlx5_0/1 lqpn 1 type GSI state RTS sq-psn 0 comm [ib_core]\n");
  EXPECT_EQ(find(look_at(*host), "qp-stuck"), nullptr);
}

}  // namespace
}  // namespace gradhaul

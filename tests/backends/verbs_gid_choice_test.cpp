#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "backends/verbs/gid_choice.h"
#include "backends/verbs/verbs_objects.h"
#include "tests/fake_verbs/fake_verbs.h"

namespace gradhaul {
namespace {

using fake::FakeGid;
using fake::ipv4_gid;
using fake::ipv6_gid;
using testing::HasSubstr;

const ibv_gid kLinkLocal = ipv6_gid(0xfe, 0x80, 1);
const ibv_gid kRoutableIpv6 = ipv6_gid(0xfd, 0x00, 1);
const ibv_gid kIpv4 = ipv4_gid(10, 0, 0, 1);

struct Chosen {
  GidChoice choice;
  std::string error;
};

Chosen choose(const std::vector<FakeGid>& gids, int wanted = -1,
              std::uint8_t link_layer = IBV_LINK_LAYER_ETHERNET) {
  fake::FakeFabric fabric;
  fake::FakeDeviceSpec spec;
  spec.ports.front().gids = gids;
  spec.ports.front().link_layer = link_layer;
  fake::FakeVerbs verbs(fabric, {spec});
  int count = 0;
  const DeviceContext context(verbs.open_device(verbs.get_device_list(&count)[0]), {&verbs});
  const ProtectionDomain pd(verbs.alloc_pd(context.get()), {&verbs});
  ibv_port_attr attributes{};
  verbs.query_port(context.get(), 1, &attributes);
  try {
    return {choose_gid(verbs, pd.get(), 1, attributes, wanted), ""};
  } catch (const VerbsError& error) {
    return {{}, error.what()};
  }
}

TEST(GidChoice, PrefersVersionTwoThenRoutableThenIpv4) {
  const std::vector<FakeGid> table{{.gid = kLinkLocal, .type = IBV_GID_TYPE_ROCE_V1},
                                   {.gid = kIpv4, .type = IBV_GID_TYPE_ROCE_V1},
                                   {.gid = kLinkLocal},
                                   {.gid = kRoutableIpv6},
                                   {.gid = kIpv4},
                                   {.gid = ipv4_gid(10, 0, 0, 2)}};
  EXPECT_EQ(choose(table).choice.index, 4U);
  EXPECT_EQ(choose({table.begin(), table.begin() + 4}).choice.index, 3U);
  EXPECT_EQ(choose({table.begin(), table.begin() + 3}).choice.index, 2U);
  EXPECT_EQ(choose({table.begin(), table.begin() + 2}).choice.index, 1U);
  EXPECT_EQ(choose({table.begin(), table.begin() + 1}).choice.index, 0U);
}

// 169.254/16 is link-local [RFC 3927], and a routable IPv6 address is better.
TEST(GidChoice, KnowsLinkLocalAddressesOfIpv4) {
  EXPECT_TRUE(is_link_local(ipv4_gid(169, 254, 3, 4)));
  EXPECT_FALSE(is_link_local(ipv4_gid(169, 253, 3, 4)));
  EXPECT_EQ(choose({{.gid = ipv4_gid(169, 254, 3, 4)}, {.gid = kRoutableIpv6}}).choice.index, 1U);
}

TEST(GidChoice, PassesOverWhatHasNoRouteAndSaysWhy) {
  const Chosen chosen =
      choose({{.gid = kRoutableIpv6}, {.gid = kIpv4, .handle_error = ENETUNREACH}});
  EXPECT_EQ(chosen.choice.index, 0U);
  EXPECT_THAT(chosen.choice.why, HasSubstr("not 1 (RoCE v2, 10.0.0.1): Network is unreachable"));
}

TEST(GidChoice, TakesAnEntryForWhoseAddressNobodyAnswersYet) {
  EXPECT_EQ(
      choose({{.gid = kRoutableIpv6}, {.gid = kIpv4, .handle_error = ETIMEDOUT}}).choice.index, 1U);
}

TEST(GidChoice, SkipsEmptyEntriesAndThoseOfOtherNamespaces) {
  EXPECT_EQ(choose({{.gid = {}}, {.gid = kIpv4, .query_error = EINVAL}, {.gid = kLinkLocal}})
                .choice.index,
            2U);
  EXPECT_THAT(choose({{.gid = {}}}).error, HasSubstr("no entry of its GID table is in use"));
  EXPECT_THAT(choose({{.gid = kIpv4, .handle_error = ENETUNREACH}}).error,
              HasSubstr("no entry of its GID table has a route; not 0 (RoCE v2, 10.0.0.1)"));
}

TEST(GidChoice, TakesTheIndexThatIsAskedForOrSaysWhichThereAre) {
  EXPECT_EQ(choose({{.gid = kLinkLocal}, {.gid = kIpv4}}, 0).choice.index, 0U);
  const std::string error = choose({{.gid = kLinkLocal}, {.gid = kIpv4}}, 3).error;
  EXPECT_THAT(error, HasSubstr("GID index 3 is empty, or not to be seen from here"));
  EXPECT_THAT(error, HasSubstr("0 (RoCE v2, fe80::1) 1 (RoCE v2, 10.0.0.1)"));
}

TEST(GidChoice, OnInfiniBandTakesThePortsOwn) {
  const Chosen chosen = choose(
      {{.gid = kLinkLocal, .type = IBV_GID_TYPE_IB}, {.gid = kIpv4, .type = IBV_GID_TYPE_IB}}, -1,
      IBV_LINK_LAYER_INFINIBAND);
  EXPECT_EQ(chosen.choice.index, 0U);
}

}  // namespace
}  // namespace gradhaul

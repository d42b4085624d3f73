#include "core/ecmp.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace gradhaul {
namespace {

FlowAddress address_of(std::uint64_t seed, int flow) {
  return {flow, 0, flow + 100, 0, udp_source_port(seed, {0, flow, flow + 100, 0}, false, 0, false)};
}

// n flows over m links miss each other with probability m! / ((m - n)! m^n), and use m (1 - (1 -
// 1/m)^n) of them on average. 20000 seeds: three standard deviations are below 0.011 and 0.02.
TEST(Ecmp, FlowsMeetAsOftenAsIndependentDraws) {
  const struct {
    int flows;
    int links;
  } cases[] = {{2, 4}, {4, 8}, {8, 8}, {4, 16}};
  constexpr int kSeeds = 20'000;
  for (const auto& c : cases) {
    int apart = 0;
    std::int64_t used = 0;
    for (int seed = 0; seed < kSeeds; ++seed) {
      std::set<int> links;
      for (int flow = 0; flow < c.flows; ++flow) {
        links.insert(ecmp_choice(address_of(static_cast<std::uint64_t>(seed), flow), 3, c.links));
      }
      used += static_cast<std::int64_t>(links.size());
      apart += static_cast<int>(links.size()) == c.flows ? 1 : 0;
    }
    double odds = 1;
    for (int i = 0; i < c.flows; ++i) odds *= static_cast<double>(c.links - i) / c.links;
    EXPECT_NEAR(static_cast<double>(apart) / kSeeds, odds, 0.011) << c.flows << " " << c.links;
    const double mean = c.links * (1 - std::pow(1 - 1.0 / c.links, c.flows));
    EXPECT_NEAR(static_cast<double>(used) / kSeeds, mean, 0.03) << c.flows << " " << c.links;
  }
}

TEST(Ecmp, SwitchesChooseEachByItself) {
  int same = 0;
  for (int flow = 0; flow < 4000; ++flow) {
    const FlowAddress address = address_of(1, flow);
    if (ecmp_choice(address, 1, 8) == ecmp_choice(address, 2, 8)) ++same;
  }
  EXPECT_NEAR(same, 500, 70);  // one in eight, within three standard deviations
}

TEST(UdpSourcePort, IsInTheRangeOfFlowLabelsAndOfEachQueuePairItsOwn) {
  std::set<std::uint16_t> ports;
  for (int pair = 0; pair < 64; ++pair) {
    const std::uint16_t port = udp_source_port(7, {0, 1, 2, 0}, false, pair, false);
    EXPECT_GE(port, 0xC000);
    ports.insert(port);
  }
  EXPECT_GE(ports.size(), 60U);  // of 16384
  EXPECT_EQ(udp_source_port(7, {0, 1, 2, 0}, false, 0, false),
            udp_source_port(7, {0, 1, 2, 0}, false, 0, false));
}

TEST(Ecmp, HasOneLinkForAll) { EXPECT_EQ(ecmp_choice({}, 0, 1), 0); }

}  // namespace
}  // namespace gradhaul

// Priority flow control against its closed forms: shares and pauses of an incast, the headroom that
// no alignment exceeds and some alignment needs, and the thresholds of a shared buffer.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/pause_headroom.h"
#include "tests/sim/draws.h"
#include "tests/sim/incast.h"
#include "tests/sim/roce_examples.h"
#include "tests/sim/write_stream.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

// H of IEEE 802.1Qbb's annex for frames of 4178 bytes: the bytes published for cables of 5, 100 and
// 300 m, and one frame more.
TEST(PauseHeadroom, IsWhatCableAndResponseMakeOfIt) {
  const struct {
    BitRate rate;
    double metres;
    std::int64_t bytes;
  } cases[] = {{100_Gbps, 5, 34'287}, {100_Gbps, 100, 46'282},  {100_Gbps, 300, 71'535},
               {400_Gbps, 5, 68'885}, {400_Gbps, 100, 116'865}, {400_Gbps, 300, 217'875}};
  for (const auto& c : cases) {
    const Duration response =
        serialisation_time({pause_response_quanta(c.rate) * kPauseQuantumBits / 8}, c.rate);
    const Bytes headroom = pause_headroom(c.rate, {4178}, cable_latency(c.metres), response);
    EXPECT_NEAR(static_cast<double>(headroom.count), static_cast<double>(c.bytes + 4178), 2)
        << c.metres;
  }
}

TEST(PauseResponse, IsThatOfTheRateOrTheNextFaster) {
  EXPECT_EQ(pause_response_quanta(10_Gbps), 67);
  EXPECT_EQ(pause_response_quanta(100_Gbps), 394);
  EXPECT_EQ(pause_response_quanta(200_Gbps), 453);
  EXPECT_EQ(pause_response_quanta(400_Gbps), 905);
  EXPECT_EQ(pause_response_quanta(800_Gbps), 905);
  EXPECT_EQ(pause_response_quanta(60_Gbps), 394);
}

TEST(RoceFraming, LeavesPayloadOverPayloadAnd82Bytes) {
  const struct {
    std::int64_t mtu;
    double efficiency;
  } cases[] = {{4096, 0.98037}, {2048, 0.96150}, {1024, 0.92586}};
  for (const auto& c : cases) {
    Cluster cluster = roce_switch(2, 400_Gbps);
    cluster.network.mtu = {c.mtu};
    const Bytes length{4 << 20};
    const double rate = steady_rate(cluster, length, 1, 5);
    EXPECT_NEAR(rate / 50e9, c.efficiency, 2e-5);
    const double wire =
        static_cast<double>(length.count) + 82 * static_cast<double>(length.count / c.mtu) + 20;
    EXPECT_NEAR(rate, 50e9 * static_cast<double>(length.count) / wire, 50e9 * 1e-9);
  }
}

// A VLAN tag, or IPv6 in the place of IPv4.
TEST(RoceFraming, LeavesLessToTagsAndLongerAddresses) {
  const struct {
    bool vlan;
    bool ipv6;
    std::int64_t overhead;
    double efficiency;
  } cases[] = {{true, false, 86, 0.97944}, {false, true, 102, 0.97570}, {true, true, 106, 0.97477}};
  for (const auto& c : cases) {
    Cluster cluster = roce_switch(2, 400_Gbps);
    cluster.network.vlan = c.vlan;
    cluster.network.ipv6 = c.ipv6;
    ASSERT_NEAR(4096.0 / static_cast<double>(4096 + c.overhead), c.efficiency, 5e-6);
    EXPECT_NEAR(steady_rate(cluster, {4 << 20}, 1, 5) / 50e9, c.efficiency, 2e-5);
  }
}

// N senders at line rate into one port: each passes 1/N and is paused the rest of the time.
TEST(PauseIncast, PausesEachSenderForAllButItsShare) {
  for (const int senders : {2, 4, 8}) {
    Incast incast(roce_switch(senders + 1, 400_Gbps), [&] {
      std::vector<IncastStream> streams;
      for (int i = 0; i < senders; ++i) {
        streams.push_back({i, senders, {1 << 20}, 16, i * 1'000'000});
      }
      return streams;
    }());
    incast.run();
    EXPECT_EQ(incast.arrivals(), 16 * senders);
    const double end = static_cast<double>(incast.last_arrival());
    const double payload = 16.0 * senders * (1 << 20);
    EXPECT_NEAR(payload / end * 1e12, 50e9 * 4096 / 4178, 50e9 * 0.01);
    for (int i = 0; i < senders; ++i) {
      const LosslessBuffers::Totals pauses = incast.world().engine().pauses(incast.link(out_of(i)));
      EXPECT_NEAR(static_cast<double>(pauses.paused) / end, 1 - 1.0 / senders, 0.03) << senders;
      EXPECT_GT(pauses.frames, 1);
    }
  }
}

// Where the port is slower than they are by r, each passes 1/(N r).
TEST(PauseIncast, PausesMoreWhereThePortIsSlower) {
  for (const int senders : {1, 2, 4}) {
    for (const int times : {2, 4}) {
      Cluster cluster = roce_switch(senders + 1, 400_Gbps);
      const BitRate port{400'000'000'000 / times};
      cluster.faults.links = {{"node" + std::to_string(senders) + ".nic0", port, {}, {}}};
      std::vector<IncastStream> streams;
      for (int i = 0; i < senders; ++i) {
        streams.push_back({i, senders, {1 << 20}, 16, i * 1'000'000});
      }
      Incast incast(cluster, streams);
      incast.run();
      EXPECT_EQ(incast.arrivals(), 16 * senders);
      const double end = static_cast<double>(incast.last_arrival());
      const double goodput = 50e9 / times * 4096 / 4178;
      EXPECT_NEAR(16.0 * senders * (1 << 20) / end * 1e12, goodput, goodput * 0.01);
      for (int i = 0; i < senders; ++i) {
        const auto paused =
            static_cast<double>(incast.world().engine().pauses(incast.link(out_of(i))).paused);
        EXPECT_NEAR(paused / end, 1 - 1.0 / (senders * times), 0.02) << senders << " " << times;
      }
    }
  }
}

// What a port held beyond its mark, the most over many alignments: so many senders into one port
// that what leaves meanwhile is next to nothing, and a stream back to one of them, behind whose
// frames pause frames wait.
struct Excess {
  std::int64_t most = 0;
  std::int64_t headroom = 0;
};

Excess most_excess(BitRate link, double metres, int alignments) {
  constexpr int kSenders = 40;
  Cluster cluster = roce_switch(kSenders + 2, link);
  cluster.network.node_cable_metres = metres;
  const Bytes largest{4096 + 82};
  Excess excess;
  excess.headroom =
      pause_headroom(link, largest, cable_latency(metres), cluster.network.pause.response).count;
  cluster.network.pause.headroom = pause_headroom(
      link, largest_packet(cluster.network), cable_latency(metres), cluster.network.pause.response);
  Draws draws(static_cast<std::uint64_t>(metres));
  for (int i = 0; i < alignments; ++i) {
    const auto start = [&] { return 1'000'000 + draws.below(2'000'000); };
    cluster.network.pause.xoff = {60'000 + draws.below(8'000)};
    cluster.network.pause.xon = cluster.network.pause.xoff - 9'408_B;
    std::vector<IncastStream> streams;
    for (int sender = 0; sender < kSenders; ++sender) {
      streams.push_back({sender, kSenders + 1, {256 << 10}, 1, start()});
    }
    streams.push_back({kSenders, 0, {1 << 20}, 1, 0});
    Incast incast(cluster, streams);
    incast.run();
    const std::int64_t held = incast.world().engine().buffers().most(incast.link(out_of(0)));
    excess.most = std::max(excess.most, held - cluster.network.pause.xoff.count);
  }
  return excess;
}

TEST(PauseHeadroom, SufficesForEveryAlignmentAndTwoFramesLessDoNot) {
  for (const double metres : {5.0, 100.0}) {
    for (const BitRate link : {100_Gbps, 400_Gbps}) {
      const Excess excess = most_excess(link, metres, 40);
      EXPECT_LE(excess.most, excess.headroom);
      EXPECT_GT(excess.most, excess.headroom - 2 * 4178) << metres;
    }
  }
}

// k ports that are held up settle at alpha B / (1 + k alpha) each.
TEST(SharedBuffer, IsSharedByAlpha) {
  for (const int senders : {2, 4}) {
    Cluster cluster = roce_switch(senders + 1, 400_Gbps);
    cluster.network.switch_buffer = {4'000'000};
    cluster.network.pause.alpha = 0.125;
    cluster.network.pause.xon = cluster.network.pause.xoff - 9'408_B;
    std::vector<IncastStream> streams;
    for (int i = 0; i < senders; ++i) streams.push_back({i, senders, {1 << 20}, 8, 0});
    Incast incast(cluster, streams);
    incast.run();
    const PauseRules& rules = incast.world().fabric().link(incast.link(out_of(0))).pause;
    const double shared = static_cast<double>(rules.shared.count);
    const double settled = 0.125 * shared / (1 + senders * 0.125);
    for (int i = 0; i < senders; ++i) {
      // The first to exceed its mark still sees the others' buffers fill.
      const auto most =
          static_cast<double>(incast.world().engine().buffers().most(incast.link(out_of(i))));
      EXPECT_GT(most, settled);
      EXPECT_LT(most, settled + static_cast<double>(rules.headroom.count) + 3 * 4198);
    }
  }
}

}  // namespace
}  // namespace gradhaul

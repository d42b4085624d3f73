// Every algorithm of core/collective_algorithms.h that came after the first ones, as
// make_schedule() makes it: proven on every rank count to 64, with the bytes and the steps of its
// closed form.

#include <gtest/gtest.h>

#include <bit>

#include "core/collective_algorithms.h"
#include "core/make_schedule.h"
#include "core/symbolic_checker.h"
#include "tests/core/schedule_cases.h"
#include "tests/oracles/message_chain.h"

namespace gradhaul {
namespace {

using namespace literals;
using namespace oracle;

constexpr Bytes kElement{2};
constexpr Bytes kSlot{3 * 2};  // three elements of bf16

// Sanitizers look at the code, for which some rank counts will do.
#ifdef __SANITIZE_ADDRESS__
constexpr Rank kRankStep = 7;
#else
constexpr Rank kRankStep = 1;
#endif

struct Case {
  Collective collective = Collective::kAllReduce;
  Algorithm algorithm = Algorithm::kRing;
  Rank ranks = 2;
  int ranks_per_node = 1;
  std::int64_t count = 1;
  int channels = 1;
  int slots = 1;
  int variant = 0;  // turns over what has few values: in place, order, reduction
};

std::unique_ptr<Schedule> schedule_of(const Case& c, Bytes slot_size = kSlot) {
  Placement placement;
  placement.channels = c.channels;
  placement.ranks_per_node = c.ranks_per_node;
  placement.rings = turned_rings(c.channels, c.ranks);
  return make_schedule({c.collective, c.algorithm, c.ranks, c.count, DataType::kBf16, slot_size},
                       placement);
}

CheckReport proof_of(const Case& c) {
  CheckSettings settings;
  settings.collective = c.collective;
  settings.world.count = c.count;
  settings.world.engine = {DataType::kBf16, Reduction::kSum, c.slots, kSlot};
  settings.world.in_place = runs_in_place(c.collective) && c.variant % 2 == 1;
  const bool reduces =
      c.collective == Collective::kAllReduce || c.collective == Collective::kReduceScatter;
  if (reduces && c.variant >= 2) settings.world.engine.reduction = Reduction::kAvg;
  if (c.variant >= 2) settings.seed = static_cast<std::uint64_t>(c.count * 64 + c.ranks);
  // What a schedule must wait for shows only when writes are done late.
  if (c.variant == 1) settings.starved = CompletionKind::kWriteDone;
  CheckReport report = check_schedule(*schedule_of(c), settings);
  EXPECT_TRUE(report.ok()) << c.ranks << " ranks, " << c.ranks_per_node << " a node, " << c.channels
                           << " channels, " << c.count << " elements, " << c.slots
                           << " slots, variant " << c.variant << ":\n"
                           << report.text();
  return report;
}

// Fewer elements than ranks; one slice a chunk, with remainders; several slices: two of these for
// each rank count, at one slot and at more, and `check` with what each sent.
template <typename Check>
void prove_on_every_rank_count(Collective collective, Algorithm algorithm, const Check& check) {
  for (Rank n = 2; n <= 64 && !testing::Test::HasFailure(); n += kRankStep) {
    const std::int64_t few = n % 2 == 0 ? 1 : n - 1;
    const std::int64_t many = n % 3 == 0 ? 2 * n + 1 : 7 * n + n / 2;
    const Case small{collective, algorithm, n, 1, few, 1 + n % 2, 1, n % 4};
    const Case large{collective, algorithm, n, 1, many, 1 + n / 2 % 2, 1 + n % 3, (n + n / 4) % 4};
    for (const Case& c : {small, large}) check(c, proof_of(c));
  }
}

int floor_log2(Rank n) { return std::bit_width(static_cast<unsigned>(n)) - 1; }

TEST(AlgorithmProofs, ReduceScatterAndAllGatherRings) {
  for (const Collective collective : {Collective::kReduceScatter, Collective::kAllGather}) {
    prove_on_every_rank_count(collective, Algorithm::kRing,
                              [](const Case& c, const CheckReport& report) {
                                const std::int64_t part = c.count / c.ranks;
                                for (const Bytes sent : report.bytes_sent) {
                                  ASSERT_EQ(sent, kElement * (part * (c.ranks - 1)));
                                }
                              });
  }
}

TEST(AlgorithmProofs, BroadcastChainAndTree) {
  prove_on_every_rank_count(Collective::kBroadcast, Algorithm::kRing,
                            [](const Case& c, const CheckReport& report) {
                              ASSERT_EQ(report.total_bytes(), kElement * (c.count * (c.ranks - 1)));
                              for (const Bytes sent : report.bytes_sent)
                                ASSERT_LE(sent, kElement * c.count);
                            });
  prove_on_every_rank_count(Collective::kBroadcast, Algorithm::kTree,
                            [](const Case& c, const CheckReport& report) {
                              ASSERT_EQ(report.total_bytes(), kElement * (c.count * (c.ranks - 1)));
                              for (const Bytes sent : report.bytes_sent)
                                ASSERT_LE(sent, kElement * (2 * c.count));
                            });
}

TEST(AlgorithmProofs, Tree) {
  prove_on_every_rank_count(
      Collective::kAllReduce, Algorithm::kTree, [](const Case& c, const CheckReport& report) {
        ASSERT_EQ(report.total_bytes(), kElement * (2 * c.count * (c.ranks - 1)));
        for (const Bytes sent : report.bytes_sent) ASSERT_LE(sent, kElement * (3 * c.count));
      });
}

// A corner of the cube gives away all chunks but one, twice; a host the whole result besides.
TEST(AlgorithmProofs, HalvingDoubling) {
  prove_on_every_rank_count(Collective::kAllReduce, Algorithm::kHalvingDoubling,
                            [](const Case& c, const CheckReport& report) {
                              ASSERT_EQ(report.total_bytes(),
                                        kElement * (2 * c.count * (c.ranks - 1)));
                              const Rank corners = 1 << floor_log2(c.ranks);
                              for (const Bytes sent : report.bytes_sent) {
                                // Chunks of a channel differ by an element.
                                const std::int64_t share = c.count / corners + 2 * c.channels;
                                const std::int64_t host = corners == c.ranks ? 0 : c.count;
                                ASSERT_LE(sent, kElement * (host + 2 * (corners - 1) * share));
                              }
                            });
}

TEST(AlgorithmProofs, RecursiveDoubling) {
  prove_on_every_rank_count(
      Collective::kAllReduce, Algorithm::kRecursiveDoubling,
      [](const Case& c, const CheckReport& report) {
        const int steps = floor_log2(c.ranks);
        const Rank corners = 1 << steps;
        const std::int64_t guests = c.ranks - corners;
        ASSERT_EQ(report.total_bytes(), kElement * (c.count * (corners * steps + 2 * guests)));
        for (const Bytes sent : report.bytes_sent) {
          ASSERT_LE(sent, kElement * (c.count * (steps + (guests > 0 ? 1 : 0))));
        }
      });
}

TEST(AlgorithmProofs, ParameterServer) {
  prove_on_every_rank_count(Collective::kAllReduce, Algorithm::kParameterServer,
                            [](const Case& c, const CheckReport& report) {
                              for (Rank rank = 0; rank < c.ranks; ++rank) {
                                const std::int64_t times = rank == 0 ? c.ranks - 1 : 1;
                                ASSERT_EQ(report.bytes_sent[static_cast<std::size_t>(rank)],
                                          kElement * (c.count * times));
                              }
                            });
}

template <typename Check>
void prove_on_all_nodes(Collective collective, const Check& check) {
  for (const int per_node : {2, 3, 4, 5, 8, 16}) {
    // Few nodes, and many where they are small.
    for (Rank nodes = 2; nodes * per_node <= 64; nodes += nodes < 6 ? kRankStep : 3) {
      const Rank n = nodes * per_node;
      const std::int64_t count = nodes % 3 == 0 ? n - 1 : (nodes % 2 == 0 ? 7 : 2) * n + n / 3;
      const Case c{collective,       Algorithm::kHierarchical, n, per_node, count, 1 + nodes % 3,
                   1 + per_node % 3, (nodes + per_node) % 4};
      check(c, proof_of(c));
      if (testing::Test::HasFailure()) return;
    }
  }
}

// Within its node a rank sends its share to all others and back, across nodes around a ring.
TEST(AlgorithmProofs, Hierarchical) {
  prove_on_all_nodes(Collective::kAllReduce, [](const Case& c, const CheckReport& report) {
    ASSERT_EQ(report.total_bytes(), kElement * (2 * c.count * (c.ranks - 1)));
    const std::int64_t nodes = c.ranks / c.ranks_per_node;
    for (const Bytes sent : report.bytes_sent) {
      const std::int64_t chunk = c.count / c.ranks + 2 * c.channels;
      ASSERT_LE(sent, kElement * (2 * chunk * ((c.ranks_per_node - 1) * nodes + (nodes - 1))));
    }
  });
}

TEST(AlgorithmProofs, HierarchicalAllToAll) {
  prove_on_all_nodes(Collective::kAllToAll, [](const Case& c, const CheckReport& report) {
    const std::int64_t part = c.count / c.ranks;
    const std::int64_t nodes = c.ranks / c.ranks_per_node;
    for (const Bytes sent : report.bytes_sent) {
      ASSERT_EQ(sent, kElement * (part * ((c.ranks_per_node - 1) * nodes +
                                          (nodes - 1) * c.ranks_per_node)));
    }
  });
}

// Of what crosses between nodes, each rank sends its part around.
TEST(AlgorithmProofs, HierarchicalSendsItsShareAcross) {
  const Case c{Collective::kAllReduce, Algorithm::kHierarchical, 32, 8, 320};
  const auto schedule = schedule_of(c, 1_MiB);
  for (Rank rank = 0; rank < c.ranks; ++rank) {
    std::int64_t across = 0;
    for (int lane = 0; lane < schedule->lanes(); ++lane) {
      for (std::int64_t i = 0; i < schedule->items(rank, 0, lane); ++i) {
        const Item item = schedule->item(rank, 0, lane, i);
        for (int s = 0; s < item.send_count; ++s) {
          const ItemSend& send = item.sends[static_cast<std::size_t>(s)];
          if (send.peer / 8 != rank / 8) across += send.span.count;
        }
      }
    }
    EXPECT_EQ(across, 2 * (4 - 1) * 320 / (4 * 8));
  }
}

// Negative controls: without what they wait for, sources are overwritten under writes, or sums sent
// that are not there yet.
TEST(AlgorithmProofs, NoneStandsWithoutItsDependencies) {
  using enum Algorithm;
  for (const auto& [collective, algorithm] :
       {std::pair{Collective::kAllReduce, kTree}, std::pair{Collective::kAllReduce, kHierarchical},
        std::pair{Collective::kAllReduce, kHalvingDoubling},
        std::pair{Collective::kAllReduce, kRecursiveDoubling},
        std::pair{Collective::kAllReduce, kParameterServer},
        std::pair{Collective::kAllToAll, kHierarchical}}) {
    const Case c{collective, algorithm, 12, 3, 120};
    const auto original = schedule_of(c);
    CheckSettings settings;
    settings.collective = collective;
    settings.world.count = c.count;
    settings.world.engine = {DataType::kBf16, Reduction::kSum, 2, kSlot};
    settings.world.in_place = runs_in_place(collective);
    settings.starved = CompletionKind::kWriteDone;
    EXPECT_TRUE(check_schedule(*original, settings).ok()) << name_of(algorithm);
    const AlteredSchedule forgetful(*original,
                                    [](const ItemPlace&, Item& item) { item.after.reset(); });
    EXPECT_FALSE(check_schedule(forgetful, settings).ok()) << name_of(algorithm);
  }
}

int steps_of(Collective collective, Algorithm algorithm, Rank ranks, int per_node = 1) {
  return longest_message_chain(
      *schedule_of({collective, algorithm, ranks, per_node, 3 * ranks}, 1_MiB));
}

TEST(AlgorithmProofs, StepsAreThoseOfTheClosedForms) {
  using enum Collective;
  using enum Algorithm;
  for (Rank n = 2; n <= 64; n += kRankStep) {
    const int logarithm = floor_log2(n);
    const int hosting = std::has_single_bit(static_cast<unsigned>(n)) ? 0 : 2;
    EXPECT_EQ(steps_of(kAllReduce, kRing, n), 2 * (n - 1));
    EXPECT_EQ(steps_of(kReduceScatter, kRing, n), n - 1);
    EXPECT_EQ(steps_of(kAllGather, kRing, n), n - 1);
    EXPECT_EQ(steps_of(kBroadcast, kRing, n), n - 1);
    EXPECT_EQ(steps_of(kAllReduce, kHalvingDoubling, n), 2 * logarithm + hosting) << n;
    EXPECT_EQ(steps_of(kAllReduce, kRecursiveDoubling, n), logarithm + hosting) << n;
    EXPECT_EQ(steps_of(kAllReduce, kParameterServer, n), 2);
    // The root, and a complete binary tree over the others.
    const int depth = std::bit_width(static_cast<unsigned>(n - 1));
    EXPECT_EQ(steps_of(kBroadcast, kTree, n), depth) << n;
    EXPECT_EQ(steps_of(kAllReduce, kTree, n), 2 * depth) << n;
  }
  for (Rank nodes = 2; nodes <= 8; ++nodes) {
    for (const int per_node : {2, 4, 8}) {
      const Rank n = nodes * per_node;
      EXPECT_EQ(steps_of(kAllReduce, kHierarchical, n, per_node), 2 + 2 * (nodes - 1)) << n;
      EXPECT_EQ(steps_of(kAllToAll, kHierarchical, n, per_node), 2);
    }
  }
}

}  // namespace
}  // namespace gradhaul

#pragma once

// The one suite for every transport: the eight points of the contract in core/transport.h, and
// whole collectives. How to instantiate it is said in transport_harness.h.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/collective_algorithms.h"
#include "tests/conformance/collective_runs.h"
#include "tests/conformance/contract_traffic.h"
#include "tests/conformance/transport_harness.h"

namespace gradhaul::conformance {

// Sanitizers make each case some ten times slower.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr std::uint64_t kCasesDrawn = 150;
#else
inline constexpr std::uint64_t kCasesDrawn = 2000;
#endif

inline ConnectionKey one_way() {
  return {.channel = 0, .source = 0, .destination = 1, .stream = 0};
}

// Every rank to every other, in some channels and streams: both directions between each two.
inline std::vector<ConnectionKey> everybody_to_everybody(Rank ranks, int channels, int streams) {
  std::vector<ConnectionKey> keys;
  for (int channel = 0; channel < channels; ++channel) {
    for (int stream = 0; stream < streams; ++stream) {
      for (Rank source = 0; source < ranks; ++source) {
        for (Rank destination = 0; destination < ranks; ++destination) {
          if (source != destination) keys.push_back({channel, source, destination, stream});
        }
      }
    }
  }
  return keys;
}

template <typename Harness>
class TransportConformance : public testing::Test {
 protected:
  void expect_contract(const TrafficPlan& plan, int seeds = 8) {
    for (int seed = 0; seed < seeds; ++seed) {
      ContractTraffic traffic(harness_, plan, static_cast<std::uint64_t>(seed));
      EXPECT_THAT(traffic.run(), testing::IsEmpty()) << "seed " << seed;
    }
  }

  void expect_result(const CollectiveCase& c, std::uint64_t seed) {
    EXPECT_THAT(run_collective(harness_, c, seed), testing::IsEmpty()) << c << ", order " << seed;
  }

  Harness harness_;
};

TYPED_TEST_SUITE_P(TransportConformance);

TYPED_TEST_P(TransportConformance, DeliversNothingFromInsidePostOrFlush) {
  for (const bool from_deliveries : {false, true}) {
    for (const int writes_per_flush : {0, 1, 3}) {
      this->expect_contract({.connections = everybody_to_everybody(3, 1, 1),
                             .slots = 4,
                             .writes = 20,
                             .writes_per_flush = writes_per_flush,
                             .posts_from_deliveries = from_deliveries});
    }
  }
}

TYPED_TEST_P(TransportConformance, CompletesEachWriteOnceAtEachEnd) {
  for (const int slots : {1, 2, 3, 8}) {
    for (const int slots_per_credit : {1, 2, 8}) {
      this->expect_contract({.connections = {one_way()},
                             .slots = slots,
                             .writes = 50,
                             .slots_per_credit = slots_per_credit});
    }
  }
}

TYPED_TEST_P(TransportConformance, KeepsOrderOnEachOfManyConnections) {
  this->expect_contract({.connections = everybody_to_everybody(4, 2, 3),
                         .slots = 8,
                         .writes = 40,
                         .lengths = {8, 1, 7, 2, 6, 3, 5, 4},
                         .writes_per_flush = 0,
                         .slots_per_credit = 3});
  this->expect_contract({.connections = {one_way()},
                         .slots = 64,
                         .writes = 1000,
                         .lengths = {8, 1, 7, 2, 6, 3, 5, 4},
                         .slots_per_credit = 5},
                        4);
}

TYPED_TEST_P(TransportConformance, BytesAreReadableByTheReducerWhenTheyArrive) {
  for (const int slots : {1, 3}) {
    this->expect_contract({.connections = everybody_to_everybody(3, 2, 1),
                           .slots = slots,
                           .writes = 20,
                           .lengths = {2, 4096, 130},
                           .through_reducer = true});
  }
}

TYPED_TEST_P(TransportConformance, ASourceIsFreeOnceItsWriteIsDone) {
  // The traffic overwrites a source within kWriteDone, and slots hold back nothing.
  this->expect_contract({.connections = everybody_to_everybody(2, 1, 2),
                         .slots = 16,
                         .writes = 60,
                         .lengths = {1024, 1, 33},
                         .slots_per_credit = 16},
                        32);
}

TYPED_TEST_P(TransportConformance, CarriesWritesFromOneByteToMebibytes) {
  for (const int slots : {1, 2}) {
    this->expect_contract(
        {.connections = {one_way()},
         .slots = slots,
         .writes = 10,
         .lengths = {1, 2, 3, 4095, 4096, 4097, 65536, (1 << 20) + 1, (2 << 20) - 1, 4 << 20}},
        1);
  }
}

TYPED_TEST_P(TransportConformance, TakesAsMuchAsItsLimitsSayAndAssertsBeyond) {
  const TrafficPlan plan{.connections = {one_way()}};
  WorldShape shape = shape_of(plan);
  const TransportLimits limits = this->harness_.make_world(shape, 1)->transport(0).limits();
  ASSERT_GE(limits.max_writes_in_flight, 1);
  ASSERT_GE(limits.max_write.count, 1);

  // As many slots as writes: nothing but the limit is in the way.
  const int most = limits.max_writes_in_flight;
  this->expect_contract(
      {.connections = {one_way()}, .slots = most, .writes = 3L * most, .writes_per_flush = 0}, 2);
  shape = shape_of({.connections = {one_way()}, .slots = most + 1});
  const auto post_too_many = [&] {
    const auto world = this->harness_.make_world(shape, 1);
    WriteRequest request;
    request.length = {1};
    for (; request.slot <= most; ++request.slot) world->transport(0).post_write(request);
  };
  EXPECT_DEATH(post_too_many(), "");
  const auto post_too_long = [&] {
    const auto world = this->harness_.make_world(shape, 1);
    WriteRequest request;
    request.length = limits.max_write + Bytes{1};
    world->transport(0).post_write(request);
  };
  EXPECT_DEATH(post_too_long(), "");
}

TYPED_TEST_P(TransportConformance, AfterAFailureAConnectionDeliversOnlyFailures) {
  for (const std::int64_t failing : {0, 1, 7, 19}) {
    for (std::uint64_t seed = 0; seed < 32; ++seed) {
      const TrafficPlan plan{.connections = everybody_to_everybody(3, 1, 1),
                             .slots = 4,
                             .writes = 20,
                             .failing_write = failing};
      ContractTraffic traffic(this->harness_, plan, seed);
      if (!traffic.can_fail()) GTEST_SKIP() << "this transport can't be made to fail";
      EXPECT_THAT(traffic.run(), testing::IsEmpty()) << "write " << failing << ", seed " << seed;
    }
  }
}

TYPED_TEST_P(TransportConformance, EveryCollectiveAtTheSmallestSizes) {
  std::uint64_t seed = 0;
  for (const Rank ranks : {2, 3, 4, 5, 8}) {
    for (const std::int64_t count : {1, 2, 3, 7, 8, 13}) {
      for (const int slots : {1, 2}) {
        for (const int channels : {1, 2}) {
          CollectiveCase c{.ranks = ranks,
                           .count = count,
                           .channels = channels,
                           .slots = slots,
                           .slot_size = {4},
                           .seed = ++seed};
          for (const bool in_place : {false, true}) {
            c.in_place = in_place;
            for (const Algorithm algorithm : {Algorithm::kRing, Algorithm::kDoubleBinaryTree}) {
              c.algorithm = algorithm;
              this->expect_result(c, seed);
            }
          }
          c.in_place = false;
          for (const Collective other : {Collective::kAllToAll, Collective::kSendRecv}) {
            c.collective = other;
            c.algorithm = algorithms_of(other).front();
            this->expect_result(c, seed);
          }
        }
      }
    }
  }
}

TYPED_TEST_P(TransportConformance, EveryDataTypeAndReduction) {
  std::uint64_t seed = 0;
  for (const DataType type : kDataTypes) {
    for (const Reduction reduction :
         {Reduction::kSum, Reduction::kAvg, Reduction::kMax, Reduction::kMin}) {
      for (const Algorithm algorithm : {Algorithm::kRing, Algorithm::kDoubleBinaryTree}) {
        for (const Rank ranks : {2, 5, 8}) {
          for (int order = 0; order < 4; ++order) {
            this->expect_result({.algorithm = algorithm,
                                 .ranks = ranks,
                                 .count = 211,
                                 .channels = 2,
                                 .slots = 1 + order,
                                 .slot_size = {24},
                                 .datatype = type,
                                 .reduction = reduction,
                                 .in_place = order % 2 == 0,
                                 .seed = ++seed},
                                seed);
          }
        }
      }
    }
  }
}

// Cases drawn from everything at once, odd slot sizes and nodes of several ranks included.
TYPED_TEST_P(TransportConformance, CollectivesDrawnAtRandom) {
  constexpr std::array<std::int64_t, 10> kCounts{1, 2, 5, 31, 64, 97, 100, 257, 499, 1009};
  const std::uint64_t stride = this->harness_.one_case_in();
  for (std::uint64_t number = 0; number < kCasesDrawn; number += stride) {
    std::uint64_t draws = 0;
    const auto draw = [&](std::int64_t below) {
      return static_cast<std::int64_t>(hash_of(99, number, ++draws) %
                                       static_cast<std::uint64_t>(below));
    };
    CollectiveCase c;
    c.seed = number;
    c.collective = static_cast<Collective>(draw(6));
    const std::span<const Algorithm> algorithms = algorithms_of(c.collective);
    c.algorithm = algorithms[static_cast<std::size_t>(draw(algorithms.size()))];
    c.ranks_per_node = static_cast<int>(1 + draw(4));
    c.ranks = static_cast<Rank>(c.ranks_per_node * (1 + draw(5)));
    if (c.ranks == 1) c.ranks = 2 * c.ranks_per_node;
    const bool two_levels = c.ranks_per_node > 1 && c.ranks > c.ranks_per_node;
    if (needs_two_levels(c.algorithm) && !two_levels) c.algorithm = algorithms.front();
    c.count = kCounts[static_cast<std::size_t>(draw(kCounts.size()))];
    c.channels = static_cast<int>(1 + draw(3));
    c.slots = static_cast<int>(1 + draw(5));
    c.slot_size = {4 + draw(draw(2) == 0 ? 30 : 600)};
    c.datatype = static_cast<DataType>(draw(4));
    c.reduction = static_cast<Reduction>(draw(4));
    c.in_place = runs_in_place(c.collective) && draw(2) == 0;
    this->expect_result(c, number);
    if (this->HasFailure()) break;
  }
}

// One or two nodes' worth of ranks each; rank counts that are no power of two among them.
TYPED_TEST_P(TransportConformance, EveryAlgorithmOfEveryCollective) {
  std::uint64_t number = 0;
  for (const Collective collective :
       {Collective::kAllReduce, Collective::kReduceScatter, Collective::kAllGather,
        Collective::kBroadcast, Collective::kAllToAll, Collective::kSendRecv}) {
    for (const Algorithm algorithm : algorithms_of(collective)) {
      for (const auto& [ranks, ranks_per_node] :
           {std::pair{2, 1}, {3, 1}, {4, 2}, {6, 3}, {7, 1}, {12, 6}}) {
        if (needs_two_levels(algorithm) && ranks_per_node == 1) continue;
        for (const std::int64_t count : {std::int64_t{1}, std::int64_t{ranks} + 1, std::int64_t{97},
                                         std::int64_t{31} * ranks + 5}) {
          ++number;
          this->expect_result({.collective = collective,
                               .algorithm = algorithm,
                               .ranks = ranks,
                               .ranks_per_node = ranks_per_node,
                               .count = count,
                               .channels = static_cast<int>(1 + number % 3),
                               .slots = static_cast<int>(1 + number % 4),
                               .slot_size = {static_cast<std::int64_t>(12 + number % 5 * 16)},
                               .datatype = static_cast<DataType>(number % 4),
                               .reduction = static_cast<Reduction>(number / 3 % 4),
                               .in_place = runs_in_place(collective) && number % 2 == 0,
                               .seed = number},
                              number);
        }
      }
    }
  }
}

TYPED_TEST_P(TransportConformance, ALargeMessageInManySlices) {
  for (const Algorithm algorithm : {Algorithm::kRing, Algorithm::kDoubleBinaryTree}) {
    this->expect_result({.algorithm = algorithm,
                         .ranks = 4,
                         .count = (1 << 17) + 3,
                         .channels = 2,
                         .slots = 8,
                         .slot_size = {16 * 1024},
                         .datatype = DataType::kBf16},
                        1);
  }
}

REGISTER_TYPED_TEST_SUITE_P(TransportConformance, DeliversNothingFromInsidePostOrFlush,
                            CompletesEachWriteOnceAtEachEnd, KeepsOrderOnEachOfManyConnections,
                            BytesAreReadableByTheReducerWhenTheyArrive,
                            ASourceIsFreeOnceItsWriteIsDone, CarriesWritesFromOneByteToMebibytes,
                            TakesAsMuchAsItsLimitsSayAndAssertsBeyond,
                            AfterAFailureAConnectionDeliversOnlyFailures,
                            EveryCollectiveAtTheSmallestSizes, EveryDataTypeAndReduction,
                            CollectivesDrawnAtRandom, EveryAlgorithmOfEveryCollective,
                            ALargeMessageInManySlices);

}  // namespace gradhaul::conformance

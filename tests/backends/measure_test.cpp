// The driver of measured runs, over threads: its numbers, and that it counts what is wrong.

#include "backends/measure/measure.h"

#include <gmock/gmock.h>

#include <thread>

#include "backends/bootstrap/thread_exchange.h"
#include "backends/cpu/host_rank_memory.h"
#include "backends/loopback/memory_endpoint.h"
#include "core/collective_algorithms.h"
#include "core/make_schedule.h"

namespace gradhaul {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::SizeIs;

// Two servers of one GPU each.
MeasureRequest request_of(std::vector<Bytes> sizes) {
  MeasureRequest request;
  request.cluster.nodes = 2;
  request.communication.channels = 2;
  request.communication.slot_size = {1024};
  request.workload.sizes = std::move(sizes);
  request.series = {.iterations = 3, .warmup = 1};
  request.timeout = 60s;
  return request;
}

// Changes a byte of what is read from the output, at these places.
class FaultyMemory final : public RankMemory {
 public:
  explicit FaultyMemory(std::vector<std::int64_t> places) : places_(std::move(places)) {}
  void prepare(const RankMemorySizes& sizes) override { memory_.prepare(sizes); }
  HostMemory regions() const override { return memory_.regions(); }
  Reducer& reducer() override { return memory_.reducer(); }
  bool poll(CompletionSink& sink) override { return memory_.poll(sink); }
  void write(BufferRef to, std::span<const std::byte> bytes) override { memory_.write(to, bytes); }
  void read(BufferRef from, std::span<std::byte> bytes) override {
    memory_.read(from, bytes);
    for (const std::int64_t place : places_) {
      const std::int64_t at = place - from.offset.count;
      if (at < 0 || at >= static_cast<std::int64_t>(bytes.size())) continue;
      bytes[static_cast<std::size_t>(at)] ^= std::byte{1};
    }
  }

 private:
  HostRankMemory memory_;
  std::vector<std::int64_t> places_;
};

enum class Posts : std::uint8_t { kAll, kNone, kNoCredits };

// An endpoint whose rank stops posting, or is counted: as a port does, it counts what it sends.
class DeafEndpoint final : public Endpoint {
 public:
  DeafEndpoint(std::unique_ptr<Endpoint> endpoint, Posts posts, std::int64_t& sent)
      : endpoint_(std::move(endpoint)), posts_(posts), sent_(sent) {}
  TransportLimits limits() const override { return endpoint_->limits(); }
  void post_write(const WriteRequest& request) override {
    const bool credit = request.kind == WriteKind::kCredit;
    if (posts_ == Posts::kNone || (posts_ == Posts::kNoCredits && credit)) return;
    sent_ += request.length.count;
    endpoint_->post_write(request);
  }
  void flush() override {
    if (posts_ != Posts::kNone) endpoint_->flush();
  }
  void restart() override { endpoint_->restart(); }
  void wait(std::chrono::microseconds most) override { endpoint_->wait(most); }
  bool poll(CompletionSink& sink) override { return endpoint_->poll(sink); }
  std::optional<RankFailure> failure() const override { return std::nullopt; }
  std::vector<std::pair<std::string, std::string>> facts() const override { return {}; }

 private:
  std::unique_ptr<Endpoint> endpoint_;
  Posts posts_;
  std::int64_t& sent_;
};

class DeafMaker final : public EndpointMaker {
 public:
  DeafMaker(EndpointMaker& maker, Posts posts) : maker_(maker), posts_(posts) {}
  std::unique_ptr<Endpoint> make(const EndpointRequest& request) override {
    return std::make_unique<DeafEndpoint>(maker_.make(request), posts_, sent_);
  }
  std::vector<std::pair<std::string, std::int64_t>> port_counts() override {
    return {{"mlx5_0:1/sent", sent_}, {"mlx5_0:1/errors", 7}};
  }

 private:
  EndpointMaker& maker_;
  Posts posts_;
  std::int64_t sent_ = 1000;  // somebody else's, before
};

struct World {
  std::vector<std::int64_t> wrong_places;  // on rank 1
  Posts rank1_posts = Posts::kAll;
};

std::vector<Measurement> measure_all(const MeasureRequest& request, const World& world = {}) {
  const Rank ranks = request.cluster.ranks();
  ThreadGroup group(ranks, 60s);
  MemoryMeetingPlace place;
  std::vector<Measurement> results(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadExchange exchange(group, rank);
      MemoryEndpointMaker maker(place, exchange);
      DeafMaker endpoints(maker, rank == 1 ? world.rank1_posts : Posts::kAll);
      FaultyMemory memory(rank == 1 ? world.wrong_places : std::vector<std::int64_t>{});
      results[static_cast<std::size_t>(rank)] = measure(request, {exchange, endpoints, memory});
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

TEST(Measure, GivesEveryRankTheSameRows) {
  const std::vector<Measurement> results = measure_all(request_of({{4}, {10'000}}));
  for (const Measurement& result : results) {
    ASSERT_THAT(result.rows, SizeIs(4));
    EXPECT_THAT(result.failures, IsEmpty());
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(result.rows[i].time, results[0].rows[i].time);
      EXPECT_EQ(result.rows[i].measured->wrong, 0);
      EXPECT_EQ(result.rows[i].measured->iterations, 3);
      EXPECT_EQ(result.rows[i].measured->in_place, i % 2 == 1);
    }
    // 2(n-1)/n of the message: of two ranks, the message itself.
    EXPECT_EQ(result.rows[2].bytes_sent_per_rank, Bytes{10'000});
  }
}

TEST(Measure, CountsEachWrongElementOnce) {
  // Bytes 0 and 3 are of element 0, 4 of element 1, 1500004 of another piece.
  const auto results =
      measure_all(request_of({{2'000'000}}), {.wrong_places = {0, 3, 4, 1'500'004}});
  for (const Measurement& result : results) {
    ASSERT_THAT(result.rows, SizeIs(2));
    // Bytes 0 and 3 are changed by one bit each, and make one wrong element.
    EXPECT_EQ(result.rows[0].measured->wrong, 3);
  }
}

// Three nodes of two ranks each: no power of two, and two levels.
TEST(Measure, IsRightForEveryAlgorithmOfEveryCollective) {
  for (const Collective collective :
       {Collective::kAllReduce, Collective::kReduceScatter, Collective::kAllGather,
        Collective::kBroadcast, Collective::kAllToAll, Collective::kSendRecv}) {
    for (const Algorithm algorithm : algorithms_of(collective)) {
      MeasureRequest request = request_of({{4}, {50'000}});
      request.cluster.nodes = 3;
      request.cluster.ranks_per_node = 2;
      request.cluster.node.gpu_count = 2;
      request.communication.algorithm = algorithm;
      request.workload.collective = collective;
      request.series = {.iterations = 2, .warmup = 0};
      const std::vector<Measurement> results = measure_all(request);
      const std::size_t halves = runs_in_place(collective) ? 2 : 1;
      ASSERT_THAT(results[0].rows, SizeIs(2 * halves)) << name_of(algorithm);
      for (const ResultRow& row : results[0].rows) {
        EXPECT_EQ(row.measured->wrong, 0) << name_of(algorithm) << ", " << row.size.count;
        EXPECT_EQ(row.algorithm, name_of(algorithm));
      }
    }
  }
}

// After reduce_scatter a rank has its own part: of two ranks, rank 1 the second half.
TEST(Measure, LooksAtAResultWhereItIs) {
  MeasureRequest request = request_of({{8'000}});
  request.workload.collective = Collective::kReduceScatter;
  for (const auto& [place, wrong] : {std::pair{3'996, 0}, {4'000, 1}}) {
    const auto results = measure_all(request, {.wrong_places = {place}});
    ASSERT_THAT(results[0].rows, SizeIs(2));
    EXPECT_EQ(results[0].rows[0].measured->wrong, wrong);
  }
}

TEST(Measure, CountsWhatPortsCountInTheRunsOfEachRow) {
  const std::vector<Measurement> all = measure_all(request_of({{64}, {4096}}));
  ASSERT_THAT(all[0].rows, SizeIs(4));
  for (const ResultRow& row : all[0].rows) {
    // One to warm up and three timed ones; not the one that is checked, nor rows before.
    EXPECT_EQ(row.counted.runs, 4);
    ASSERT_THAT(row.counted.ports, SizeIs(2));
    for (const PortCounters& port : row.counted.ports) {
      // A ring of two: each sends half of the message twice, and nothing else was counted.
      EXPECT_THAT(port.as_on_host, testing::ElementsAre(testing::Pair("sent", 4 * row.size.count)));
    }
    EXPECT_EQ(row.counted.ports[1].port, "node1.nic0");
  }
}

TEST(Measure, GivesUpWithoutProgressAndNamesTheSilentRank) {
  MeasureRequest request = request_of({{10'000}});
  request.timeout = 300ms;
  const auto results = measure_all(request, {.wrong_places = {}, .rank1_posts = Posts::kNone});
  for (const Measurement& result : results) {
    EXPECT_THAT(result.rows, IsEmpty());
    ASSERT_FALSE(result.failures.empty());
    EXPECT_THAT(result.failures.front(),
                MatchesRegex("rank [01]: no progress for [0-9]+ ms, waiting for .* rank .*"));
    EXPECT_THAT(result.failures.front(), HasSubstr("all_reduce of 10000 bytes"));
  }
}

// Who has all it wants may still wait for another to read what it was sent.
TEST(Measure, NamesWhoKeepsItsSlots) {
  MeasureRequest request = request_of({{4096}});
  request.timeout = 300ms;
  const auto results = measure_all(request, {.wrong_places = {}, .rank1_posts = Posts::kNoCredits});
  EXPECT_THAT(results[0].failures,
              testing::Contains(HasSubstr("waiting for rank 1 to give back slots (channel 0)")));
}

TEST(Measure, EndsInterruptedOnAllRanks) {
  const std::atomic<bool> interrupted{true};
  MeasureRequest request = request_of({{4}});
  request.interrupted = &interrupted;
  for (const Measurement& result : measure_all(request)) {
    EXPECT_TRUE(result.interrupted);
    EXPECT_THAT(result.rows, IsEmpty());
  }
}

// Who started the ranks sees more of how they ended than they do.
TEST(Measure, TakesACauseThatIsKnownBeforeWhatRanksSaw) {
  std::vector<std::string> failures{"rank 0: rank 2 is gone", "a victim: rank 1: stopped"};
  put_cause_first("rank 2 was killed", failures);
  EXPECT_THAT(failures,
              testing::ElementsAre("rank 2 was killed", "a victim: rank 0: rank 2 is gone",
                                   "a victim: rank 1: stopped"));
  failures = {"the run failed, and nobody says why"};
  put_cause_first("rank 2 was killed", failures);
  EXPECT_THAT(failures, testing::ElementsAre("rank 2 was killed"));
}

TEST(TimeSummary, TakesPercentilesByTheNearestRank) {
  std::vector<std::chrono::nanoseconds> times;
  for (int i = 100; i >= 1; --i) times.emplace_back(i);
  const TimeSummary summary = summary_of(times);
  EXPECT_EQ(summary.min, Duration{1'000});
  EXPECT_EQ(summary.p50, Duration{50'000});
  EXPECT_EQ(summary.p99, Duration{99'000});
  EXPECT_EQ(summary.mean, Duration{50'500});
  EXPECT_EQ(summary_of({std::chrono::nanoseconds(9), std::chrono::nanoseconds(7)}).each,
            (std::vector<Duration>{{9'000}, {7'000}}));
  const TimeSummary one = summary_of({std::chrono::nanoseconds(7)});
  EXPECT_EQ(one.p50, Duration{7'000});
  EXPECT_EQ(one.p99, Duration{7'000});
  // Of 20 the 99th percentile is the 20th (0.99 · 20 = 19.8), the median the 10th.
  times.erase(times.begin(), times.begin() + 80);
  EXPECT_EQ(summary_of(times).p99, Duration{20'000});
  EXPECT_EQ(summary_of(times).p50, Duration{10'000});
}

}  // namespace
}  // namespace gradhaul

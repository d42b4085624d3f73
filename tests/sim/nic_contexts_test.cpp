// NICs that hold fewer queue pairs or memory regions than are in use, and queue pairs that take
// only so many work requests a second: each by its closed form.

#include "sim/nic_contexts.h"

#include <gtest/gtest.h>

#include "sim/predict.h"
#include "tests/sim/cluster_examples.h"
#include "tests/sim/same_prediction.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

int misses_of(ContextCache cache, const std::vector<std::int32_t>& uses) {
  int misses = 0;
  for (const std::int32_t context : uses) misses += cache.use(context) ? 0 : 1;
  return misses;
}

std::vector<std::int32_t> in_turn(int contexts, int rounds) {
  std::vector<std::int32_t> uses;
  for (int i = 0; i < contexts * rounds; ++i) uses.push_back(i % contexts);
  return uses;
}

// In turn over one more than fit, the one that is wanted next is always the one that went last.
TEST(ContextCache, MissesEachTimeOnceTheyDoNotAllFit) {
  for (const int capacity : {1, 2, 7}) {
    EXPECT_EQ(misses_of(ContextCache(capacity), in_turn(capacity, 10)), 0);
    EXPECT_EQ(misses_of(ContextCache(capacity), in_turn(capacity + 1, 10)),
              (capacity + 1) * 10 - capacity);
  }
  EXPECT_EQ(misses_of(ContextCache(0), in_turn(1000, 3)), 0);
}

TEST(ContextCache, LetsTheLeastRecentlyUsedGo) {
  EXPECT_EQ(misses_of(ContextCache(2), {1, 2, 1, 3, 1, 2}), 2);  // 3 in place of 2, and back
}

// `messages` of 4 KiB from each of two nodes to the other, all posted at once.
PredictionRequest writes(int messages) {
  Cluster cluster = bare_pair(5, 400_Gbps, {4096});
  give_latencies(cluster.node);
  cluster.node.nic.context_fetch = 10_us;
  PredictionRequest request = request_for(cluster, Bytes{4096} * messages);
  request.workload.collective = Collective::kSendRecv;
  request.communication.channels = 1;
  request.communication.slot_size = {4096};
  request.communication.slots = 64;
  return request;
}

std::int64_t time_of(const PredictionRequest& request) { return predict(request).rows[0].time.ps; }

// Of each NIC: one that sends data and one that receives it, and the same of credits.
TEST(QueuePairCache, CostsNothingWhereAllFit) {
  const PredictionRequest unlimited = writes(8);
  PredictionRequest request = unlimited;
  request.cluster.node.nic.queue_pair_cache = 4;
  request.cluster.node.nic.memory_region_cache = 2;
  expect_same_run(predict(request), predict(unlimited));
}

// There is room for the context that sends; the one that receives comes in its place.
TEST(QueuePairCache, DelaysAMessageByAFetch) {
  PredictionRequest request = writes(1);
  const std::int64_t base = time_of(request);
  request.cluster.node.nic.queue_pair_cache = 1;
  EXPECT_EQ(time_of(request), base + 10'000'000);
  request.cluster.node.nic.memory_region_cache = 1;
  EXPECT_EQ(time_of(request), base + 20'000'000);
  request.cluster.node.nic.queue_pair_cache = 0;
  EXPECT_EQ(time_of(request), base + 10'000'000);
}

// Sixteen queue pairs each way and room for two: each work request and each write that comes in
// waits for a fetch, one after the other.
TEST(QueuePairCache, BoundsTheRateOfMessages) {
  PredictionRequest request = writes(64);
  request.communication.queue_pairs = 16;
  const std::int64_t base = time_of(request);
  request.cluster.node.nic.queue_pair_cache = 2;
  const Prediction prediction = predict(request);
  const std::int64_t time = prediction.rows[0].time.ps;
  EXPECT_GE(time, (2 * 64 - 2) * 10'000'000);
  ASSERT_FALSE(prediction.counters.empty());
  const std::int64_t misses = prediction.counters[0].as_on_host.at("context_misses");
  EXPECT_GE(misses, 2 * 64 - 2);
  EXPECT_LE(time, base + misses * 10'000'000);
  double blamed = 0;
  for (const TimePart& part : prediction.rows[0].parts) {
    if (part.cause == "context misses") blamed += static_cast<double>(part.time.ps);
  }
  // The rest is put down to messages that wait for those posted before them.
  EXPECT_GT(blamed, 0.5 * static_cast<double>(time - base));
}

// Each starts so long after the one before it; the last then takes what one alone does.
TEST(QueuePairRate, SpacesWorkRequests) {
  const std::int64_t alone = time_of(writes(1));
  for (const int messages : {2, 32, 64}) {
    PredictionRequest request = writes(messages);
    request.cluster.node.nic.queue_pair_rate = 100'000;
    EXPECT_EQ(time_of(request), alone + (messages - 1) * 10'000'000);
    // Half of them on each, the last two a packet apart.
    request.communication.queue_pairs = 2;
    const std::int64_t shared = alone + (messages / 2 - 1) * 10'000'000;
    EXPECT_GE(time_of(request), shared);
    EXPECT_LT(time_of(request), shared + 1'000'000);
  }
}

TEST(QueuePairRate, RecursAndStandsOnTheCriticalPath) {
  PredictionRequest request = writes(4096);
  request.cluster.node.nic.queue_pair_rate = 500'000;
  const Prediction skipping = predict(request);
  EXPECT_GT(skipping.cost.skipped_packet_hops, 0);
  expect_same_run(skipping, in_full(request));
  ASSERT_FALSE(skipping.rows[0].parts.empty());
  EXPECT_EQ(skipping.rows[0].parts[0].cause, "queue pair rate");
}

}  // namespace
}  // namespace gradhaul

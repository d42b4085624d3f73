// Jobs and what they cost each other.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "sim/predict.h"
#include "tests/sim/task_examples.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

Job job_of(const std::string& name, std::vector<int> gpus, Bytes size) {
  Job job;
  job.name = name;
  job.gpus = std::move(gpus);
  job.workload.collective = Collective::kSendRecv;
  job.workload.datatype = DataType::kBf16;
  job.workload.sizes = {size};
  job.communication.slots = 64;
  job.communication.channels = 1;
  return job;
}

// Two that share the one link between two leaves, and one that is alone below its leaf.
PredictionRequest three_jobs() {
  PredictionRequest request;
  request.cluster = two_ideal_leaves(6);
  request.jobs = {job_of("a", {0, 3}, 8_MiB), job_of("b", {1, 4}, 8_MiB)};
  return request;
}

TEST(JobPrediction, SaysWhatCompanyCosts) {
  const Prediction prediction = predict(three_jobs());
  ASSERT_EQ(prediction.rows.size(), 2U);
  ASSERT_TRUE(prediction.company);
  const Company& company = *prediction.company;
  EXPECT_THAT(company.parties, testing::ElementsAre("a", "b"));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(prediction.rows[i].job, company.parties[i]);
    EXPECT_EQ(company.jobs[i].time, prediction.rows[i].time);
    // 8 MiB over 50 GB/s more than alone, less what the last packets make of it.
    const Duration on_link{8 * 1024 * 1024 * 20};
    EXPECT_NEAR((company.jobs[i].time - company.jobs[i].alone).microseconds(),
                on_link.microseconds(), 0.5);
  }
  EXPECT_THAT(company.jobs[0].gpus, testing::ElementsAre("node0.gpu0", "node3.gpu0"));
  ASSERT_FALSE(company.shared_links.empty());
  EXPECT_EQ(company.shared_links[0].resource, "leaf0-spine0");
  EXPECT_THAT(company.shared_links[0].bytes, testing::ElementsAre(8_MiB, 8_MiB));
  // With two, each is all of what the other waits for.
  EXPECT_TRUE(company.jobs[0].saved_without.empty());
}

// A third below one leaf costs nobody anything, and waits for nobody.
TEST(JobPrediction, SaysWhoWaitsForWhom) {
  PredictionRequest request = three_jobs();
  request.cluster.nodes = 8;
  request.cluster.network.oversubscription = 4;
  request.jobs = {job_of("a", {0, 4}, 8_MiB), job_of("b", {1, 5}, 8_MiB),
                  job_of("c", {2, 3}, 8_MiB)};
  const Prediction prediction = predict(request);
  ASSERT_TRUE(prediction.company);
  const auto& jobs = prediction.company->jobs;
  ASSERT_EQ(jobs[0].saved_without.size(), 2U);
  EXPECT_EQ(jobs[0].saved_without[0].first, "b");
  EXPECT_EQ(jobs[0].saved_without[0].second, jobs[0].time - jobs[0].alone);
  EXPECT_EQ(jobs[0].saved_without[1].first, "c");
  EXPECT_EQ(jobs[0].saved_without[1].second, Duration{});
  EXPECT_EQ(jobs[2].time, jobs[2].alone);
}

// One collective of all ranks and others around it: a row for each size, none of them a job's.
TEST(JobPrediction, BackgroundTrafficAloneKeepsSizes) {
  PredictionRequest request = request_for(paired_cluster(4, 1), 256_KiB);
  request.workload.sizes = {64_KiB, 256_KiB};
  request.skip_recurrences = false;
  const Prediction alone = predict(request);
  BackgroundTraffic others;
  others.name = "others";
  others.pattern = TrafficPattern::kPermutation;
  others.load = 0.5;
  others.message = 16_KiB;
  request.background = {others};
  const Prediction beside = predict(request);
  ASSERT_EQ(beside.rows.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(beside.rows[i].size, alone.rows[i].size);
    EXPECT_GT(beside.rows[i].time, alone.rows[i].time);
    EXPECT_TRUE(beside.rows[i].job.empty());
  }
  ASSERT_TRUE(beside.company);
  EXPECT_EQ(beside.company->jobs[0].alone, alone.rows[1].time);
  EXPECT_EQ(beside.company->background[0].sources, 4);
}

// A queue pair of one gives up; the other was complete by then.
TEST(JobPrediction, KeepsWhatWasFinishedWhereARetryRunsOut) {
  PredictionRequest request;
  request.cluster = paired_cluster(4, 1);
  request.cluster.network.topology.leaves = 1;
  request.cluster.faults.down = {{"node3.nic0", 500_us, {}}};
  request.jobs = {job_of("a", {0, 1}, 64_KiB), job_of("b", {2, 3}, 256_MiB)};
  request.jobs[1].communication.timeout = 8;
  request.jobs[1].communication.retry = 1;
  const Prediction prediction = predict(request);
  ASSERT_EQ(prediction.rows.size(), 1U);
  EXPECT_EQ(prediction.rows[0].job, "a");
  EXPECT_FALSE(prediction.interrupted);
  EXPECT_FALSE(prediction.company);
  EXPECT_THAT(prediction.failure,
              testing::AllOf(testing::HasSubstr("b: transport retry counter exceeded"),
                             testing::HasSubstr("node3.nic0")));
}

TEST(JobPrediction, EndsWhereItIsInterrupted) {
  PredictionRequest request = three_jobs();
  request.jobs[0].workload.sizes = request.jobs[1].workload.sizes = {256_MiB};
  const std::atomic<bool> interrupted = true;
  request.interrupted = &interrupted;
  const Prediction prediction = predict(request);
  EXPECT_TRUE(prediction.interrupted);
  EXPECT_TRUE(prediction.rows.empty());
}

}  // namespace
}  // namespace gradhaul

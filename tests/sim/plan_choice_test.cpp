// `auto`, and what NCCL would choose.

#include "sim/plan_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/collective_algorithms.h"
#include "core/nccl_tuner.h"
#include "sim/predict.h"
#include "tests/sim/cluster_examples.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)
using testing::Contains;
using testing::HasSubstr;

// Rings have the better of large messages, trees of small ones.
PredictionRequest any_algorithm(int nodes, std::vector<Bytes> sizes) {
  PredictionRequest request = request_for(ideal_cluster(nodes), 1_MiB);
  request.workload.sizes = std::move(sizes);
  request.workload.datatype = DataType::kFp32;
  request.communication.channels = 1;
  request.communication.choose_algorithm = true;
  return request;
}

Cluster h100s(int nodes) {
  Cluster cluster = one_switch(hgx_h100(), nodes, 400_Gbps);
  cluster.node.gpu.compute_capability = 90;
  cluster.node.cpu = CpuVendor::kIntel;
  return cluster;
}

TEST(PlanChoice, TakesWhatTakesLeast) {
  for (const Fidelity fidelity : {Fidelity::kAnalytic, Fidelity::kFlow}) {
    PredictionRequest request = any_algorithm(16, {4_KiB, 256_KiB, 64_MiB});
    request.fidelity = fidelity;
    const Prediction chosen = predict(request);
    ASSERT_EQ(chosen.rows.size(), 3U);
    for (const ResultRow& row : chosen.rows) {
      Duration least{INT64_MAX};
      std::string name;
      std::size_t possible = 0;
      for (const Algorithm algorithm : algorithms_of(Collective::kAllReduce)) {
        if (!has_levels(algorithm, request.cluster)) continue;
        ++possible;
        PredictionRequest one = request;
        one.workload.sizes = {row.size};
        one.communication.choose_algorithm = false;
        one.communication.algorithm = algorithm;
        const Duration time = predict(one).rows.at(0).time;
        if (time >= least) continue;
        least = time;
        name = name_of(algorithm);
      }
      ASSERT_EQ(row.weighed.size(), possible);
      EXPECT_EQ(row.algorithm, name) << row.size.count;
      EXPECT_EQ(row.time.ps, least.ps);
      EXPECT_EQ(row.weighed.front().time.ps, least.ps);
      EXPECT_TRUE(std::is_sorted(
          row.weighed.begin(), row.weighed.end(),
          [](const WeighedPlan& a, const WeighedPlan& b) { return a.time < b.time; }));
    }
    EXPECT_NE(chosen.rows.front().algorithm, "ring");
    EXPECT_EQ(chosen.rows.back().algorithm, "ring");
  }
}

TEST(PlanChoice, IsTheRunOfThePlanItTakes) {
  PredictionRequest request = any_algorithm(8, {32_MiB});
  const Prediction chosen = predict(request);
  request.communication.choose_algorithm = false;
  request.communication.algorithm = Algorithm::kRing;
  const Prediction ring = predict(request);
  EXPECT_EQ(chosen.rows.at(0).algorithm, "ring");
  EXPECT_EQ(chosen.digest, ring.digest);
  EXPECT_EQ(chosen.rows.at(0).time.ps, ring.rows.at(0).time.ps);
  EXPECT_TRUE(ring.rows.at(0).weighed.empty());
}

// Sizes of two plans are two runs, told as one.
TEST(PlanChoice, SaysWhatItTookForWhichSizes) {
  const Prediction chosen = predict(any_algorithm(16, {4_KiB, 8_KiB, 64_MiB}));
  ASSERT_EQ(chosen.rows.size(), 3U);
  EXPECT_EQ(chosen.rows[0].size.count, 4096);
  EXPECT_EQ(chosen.rows[2].size.count, (64_MiB).count);
  // Of few bytes and many ranks, what takes log2(16) steps takes least.
  EXPECT_EQ(chosen.rows[0].algorithm, "recursive_doubling");
  EXPECT_THAT(chosen.notes,
              Contains(HasSubstr("recursive_doubling/simple up to 8 KiB, then ring/simple")));
  EXPECT_THAT(chosen.notes, Contains(HasSubstr("estimates for 64 MiB: ring/simple")));
  // The GPU of this world is none that NCCL knows.
  EXPECT_FALSE(chosen.rows[0].nccl);
}

TEST(PlanChoice, TellsWhatNcclWouldTake) {
  PredictionRequest request = request_for(h100s(2), 8_KiB);
  request.fidelity = Fidelity::kAnalytic;
  request.communication.choose_algorithm = true;
  const Prediction chosen = predict(request);
  const ResultRow& row = chosen.rows.at(0);
  ASSERT_TRUE(row.nccl);
  EXPECT_EQ(row.nccl->version, "2.30");
  EXPECT_EQ(row.nccl->plan.algorithm, "double_binary_tree");
  EXPECT_EQ(row.nccl->plan.protocol, "ll");
  // 6.8 + 2 (7 * 0.6 + 5) us, and 8 KiB at 8 * 48 * 0.92 / 3.8 (at most 39) * 0.85 / 2 * 0.7 GB/s.
  EXPECT_NEAR(row.nccl->plan.time.microseconds(), 25.2 + 8192 / (1000 * 39 * 0.85 / 2 * 0.7), 0.01);
  EXPECT_THAT(chosen.notes, Contains(HasSubstr("NCCL 2.30 would take double_binary_tree/ll")));
}

// Of a collective with one way to do it there is nothing to choose.
TEST(PlanChoice, LeavesAloneWhatHasNoChoice) {
  PredictionRequest request = any_algorithm(4, {1_MiB});
  request.workload.collective = Collective::kAllToAll;
  EXPECT_FALSE(chooses_plan(request));
  EXPECT_TRUE(predict(request).rows.at(0).weighed.empty());
}

TEST(NcclTunerFidelity, GivesNcclsOwnEstimate) {
  Cluster cluster = one_switch(hgx_h100(), 3, 200_Gbps);
  cluster.node.nic.rate = 200_Gbps;
  cluster.node.gpu.compute_capability = 90;
  cluster.node.cpu = CpuVendor::kIntel;
  PredictionRequest request = request_for(cluster, 128_B);
  request.workload.sizes = {128_B, 8192_MiB};
  request.fidelity = Fidelity::kNcclTuner;
  request.communication.profile = "nccl-2.22";
  request.communication.choose_algorithm = request.communication.choose_protocol = true;
  const Prediction prediction = predict(request);
  EXPECT_NEAR(prediction.rows.at(0).time.microseconds(), 25.214764, 1e-6);
  EXPECT_EQ(prediction.rows.at(0).protocol, "ll");
  EXPECT_EQ(prediction.rows.at(0).limited_by, "latency");
  // Of this size NCCL would take NVLSTree; held to rings it expects what its log says.
  request.communication.choose_algorithm = false;
  EXPECT_NEAR(predict(request).rows.at(1).time.microseconds(), 86069.96875, 0.01);
  EXPECT_EQ(predict(request).rows.at(1).limited_by, "bandwidth");
}

TEST(NcclTunerFidelity, SaysWhereSwitchesReduce) {
  PredictionRequest request = request_for(h100s(1), 1024_MiB);
  request.fidelity = Fidelity::kNcclTuner;
  request.communication.choose_algorithm = request.communication.choose_protocol = true;
  const Prediction prediction = predict(request);
  EXPECT_EQ(prediction.rows.at(0).algorithm, "nvls");
  EXPECT_THAT(prediction.notes, Contains(HasSubstr("NCCL would use NVLS")));
}

// The profile runs what NCCL would, of what is modelled, with NCCL's channels and slots.
TEST(NcclProfile, RunsWhatNcclWouldTake) {
  PredictionRequest request = request_for(h100s(2), 8_KiB);
  request.workload.sizes = {8_KiB, 8_MiB};
  request.fidelity = Fidelity::kAnalytic;
  request.communication.profile = "nccl-2.30";
  request.communication.choose_algorithm = request.communication.choose_protocol = true;
  request.communication.slots = 0;
  const Prediction prediction = predict(request);
  const NcclTuner tuner(nccl_run(request.cluster, request.workload, NcclVersion::k2_30));
  for (const ResultRow& row : prediction.rows) {
    for (const NcclEstimate& estimate : tuner.estimates(row.size)) {
      if (reduces_in_switches(estimate.algorithm)) continue;
      EXPECT_EQ(row.algorithm, nccl_algorithm_name(estimate.algorithm));
      EXPECT_EQ(row.channels, estimate.channels);
      EXPECT_EQ(row.weighed.front().time.ps, estimate.time.ps);
      break;
    }
  }
  EXPECT_EQ(prediction.rows.at(0).protocol, "ll");
  EXPECT_LT(prediction.rows.at(0).channels, prediction.rows.at(1).channels);
  EXPECT_THAT(prediction.notes, Contains(HasSubstr("NCCL's own estimates (nccl-2.30)")));
}

}  // namespace
}  // namespace gradhaul

// Jobs that go by TCP beside each other: cores are each rank's own, links and memory are shared.

#include <gtest/gtest.h>

#include "sim/predict.h"
#include "tests/sim/cluster_examples.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

// Two GPUs and one NIC at each of two nodes; a job of one GPU at each.
PredictionRequest two_jobs(BitRate link) {
  Cluster cluster = paired_cluster(2, 2);
  cluster.node.nic_count = 1;
  cluster.node.pcie[1].devices = {"gpu1"};
  cluster.node.gpu.copy_setup = 6_us;
  cluster.node.host_memory_latency = 90_ns;
  cluster.network.kind = NetworkKind::kEthernet;
  cluster.network.link = link;
  cluster.network.mtu = {8948};
  cluster.network.topology.leaves = 1;
  cluster.network.tcp = TcpSettings{};
  PredictionRequest request;
  request.cluster = cluster;
  for (const int gpu : {0, 1}) {
    Job job;
    job.name = gpu == 0 ? "a" : "b";
    job.gpus = {gpu, 2 + gpu};
    job.workload.collective = Collective::kBroadcast;  // one way
    job.workload.datatype = DataType::kBf16;
    job.workload.sizes = {32_MiB};
    job.communication.channels = 1;
    job.communication.slot_size = {8 * 7 * 8948};
    job.communication.gpudirect = GpuDirect::kOff;
    job.communication.tcp = cluster.network.tcp;
    request.jobs.push_back(job);
  }
  return request;
}

// 41.5 Gb/s is what a receiving core carries of 9000-byte packets: a link of 100 Gb/s has room for
// two of them.
TEST(TcpJobs, HaveCoresOfTheirOwn) {
  const Prediction prediction = predict(two_jobs(100_Gbps));
  ASSERT_EQ(prediction.rows.size(), 2U);
  ASSERT_TRUE(prediction.company);
  for (const JobCompany& job : prediction.company->jobs) {
    EXPECT_NEAR(job.time.microseconds(), job.alone.microseconds(), 0.02 * job.alone.microseconds());
    const double gbps = static_cast<double>((32_MiB).count) * 8e-3 / job.time.microseconds();
    EXPECT_NEAR(gbps, 41.5, 0.05 * 41.5);
  }
}

// One of 40 Gb/s has not: each gets half of the payload that 9038 bytes on the wire leave.
TEST(TcpJobs, ShareALink) {
  const Prediction prediction = predict(two_jobs(40_Gbps));
  ASSERT_TRUE(prediction.company);
  const double alone = 40 * 8948.0 / 9038;
  for (const JobCompany& job : prediction.company->jobs) {
    const double bits = static_cast<double>((32_MiB).count) * 8e-3;
    EXPECT_NEAR(bits / job.alone.microseconds(), alone, 0.04 * alone);
    EXPECT_NEAR(bits / job.time.microseconds(), alone / 2, 0.04 * alone / 2);
  }
  ASSERT_FALSE(prediction.company->shared_links.empty());
}

}  // namespace
}  // namespace gradhaul

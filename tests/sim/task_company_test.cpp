// Collectives beside each other: what they share slows them down by as much as it must, and what
// they do not share leaves them alone, to the picosecond.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tests/sim/task_examples.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

struct Job {
  std::vector<int> gpus;
  Bytes size;
  Collective collective = Collective::kAllReduce;
  Duration at = {};
};

TaskGraphResult run_jobs(const Cluster& cluster, const std::vector<Job>& jobs,
                         const Communication& how = {}) {
  TaskGraph graph;
  for (const Job& job : jobs) {
    add_collective(graph, add_communicator(graph, job.gpus, how), job.size, job.collective).at =
        job.at;
  }
  return run_tasks(cluster, graph);
}

Duration alone(const Cluster& cluster, Job job, const Communication& how = {}) {
  job.at = {};
  return run_jobs(cluster, {job}, how).tasks[0].row.time;
}

// Two pairs exchange 32 MiB each over the one link between two leaves: alone it takes the link n/B
// and the way; together the link is busy for 2n/B, and both end within a packet of each other.
TEST(TaskCompany, TwoJobsThatShareALinkTakeTwiceAsLongOnIt) {
  const Cluster cluster = two_ideal_leaves(4);
  const Job first{{0, 2}, 32_MiB, Collective::kSendRecv, {}};
  const Job second{{1, 3}, 32_MiB, Collective::kSendRecv, {}};
  // Enough slots that no credit is waited for.
  Communication how;
  how.slots = 64;
  how.channels = 1;
  const Duration on_link{32 * 1024 * 1024 * 20};  // 20 ps a byte at 50 GB/s
  const Duration by_itself = alone(cluster, first, how);
  EXPECT_GE(by_itself, on_link);
  EXPECT_LE(by_itself, on_link + 20_us);
  const TaskGraphResult both = run_jobs(cluster, {first, second}, how);
  const Duration packet{4096 * 20};
  EXPECT_EQ(both.end, by_itself + on_link);
  for (const TaskResult& task : both.tasks) EXPECT_GE(task.end, both.end - packet * 2);
  // The two cables there and back are what they share, half and half.
  ASSERT_EQ(both.shared_links.size(), 2U);
  for (const LinkShare& link : both.shared_links) {
    EXPECT_THAT(link.bytes, testing::ElementsAre(32_MiB, 32_MiB));
  }
}

// Where one has long begun, the other shares what is left: fair, and work-conserving.
TEST(TaskCompany, SharingBeginsWithTheSecondAndEndsWithTheFirst) {
  const Cluster cluster = two_ideal_leaves(4);
  Communication how;
  how.slots = 64;
  how.channels = 1;
  const Job first{{0, 2}, 32_MiB, Collective::kSendRecv, {}};
  const Job later{{1, 3}, 32_MiB, Collective::kSendRecv, 200_us};
  const Duration by_itself = alone(cluster, first, how);
  const TaskGraphResult both = run_jobs(cluster, {first, later}, how);
  // The first has the link to itself for 200 us, then half of it until it ends. So does the second
  // from its start until then, and what it has left then it has to itself: as much as the first
  // had.
  const Duration on_link{32 * 1024 * 1024 * 20};
  const Duration expected = by_itself + on_link - 200_us;
  EXPECT_NEAR(both.tasks[0].row.time.microseconds(), expected.microseconds(), 0.5);
  EXPECT_NEAR(both.tasks[1].row.time.microseconds(), expected.microseconds(), 0.5);
}

// Of two nodes each at one switch, over InfiniBand with credits, PCIe and all: nothing is shared.
TEST(TaskCompany, DisjointJobsTakeExactlyWhatEachTakesAlone) {
  const Cluster cluster = one_switch(hgx_h100(), 4, 400_Gbps);
  const std::vector<Job> jobs{{gpus_from(0, 16), 4_MiB, Collective::kAllReduce, {}},
                              {gpus_from(16, 16), 3_MiB, Collective::kAllToAll, {}}};
  const TaskGraphResult both = run_jobs(cluster, jobs);
  EXPECT_EQ(both.tasks[0].row.time, alone(cluster, jobs[0]));
  EXPECT_EQ(both.tasks[1].row.time, alone(cluster, jobs[1]));
  EXPECT_TRUE(both.shared_links.empty());
}

// The same where starts differ: ends are shifted by as much.
TEST(TaskCompany, StartsShiftEndsWhereNothingIsShared) {
  const Cluster cluster = one_switch(hgx_h100(), 4, 400_Gbps);
  std::vector<Job> jobs{{gpus_from(0, 16), 2_MiB, Collective::kAllReduce, {}},
                        {gpus_from(16, 16), 2_MiB, Collective::kAllReduce, {}}};
  const TaskGraphResult together = run_jobs(cluster, jobs);
  jobs[1].at = Duration{12'345'679};
  const TaskGraphResult apart = run_jobs(cluster, jobs);
  EXPECT_EQ(apart.tasks[0].end, together.tasks[0].end);
  EXPECT_EQ(apart.tasks[1].end, together.tasks[1].end + jobs[1].at);
  EXPECT_EQ(apart.tasks[1].row.time, together.tasks[1].row.time);
}

Cluster two_leaves_of_four(double oversubscription, int uplinks) {
  Cluster cluster = paired_cluster(8, 2);
  cluster.network.topology.kind = TopologyKind::kLeafSpine;
  cluster.network.topology.switch_ports = 64;
  cluster.network.topology.leaves = 2;
  cluster.network.topology.spines = 1;
  cluster.network.topology.uplinks_per_leaf = uplinks;
  cluster.network.oversubscription = oversubscription;
  return cluster;
}

// Each below a leaf of its own: however narrow the way between leaves is.
TEST(TaskCompany, JobsPackedBelowTheirLeavesLeaveEachOtherAlone) {
  const Cluster cluster = two_leaves_of_four(8, 1);
  const std::vector<Job> jobs{{gpus_from(0, 8), 3_MiB, Collective::kAllReduce, {}},
                              {gpus_from(8, 8), 5_MiB, Collective::kAllReduce, {}}};
  const TaskGraphResult both = run_jobs(cluster, jobs);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    EXPECT_EQ(both.tasks[i].row.time, alone(cluster, jobs[i]));
  }
  EXPECT_TRUE(both.shared_links.empty());
}

// Four jobs over all leaves, on one narrow way: listed in whatever order, all take the same times,
// and the run is the same, packet by packet.
TEST(TaskCompany, TheOrderOfListingChangesNothing) {
  const Cluster cluster = two_leaves_of_four(4, 2);
  std::vector<Job> jobs;
  for (int i = 0; i < 4; ++i) {
    jobs.push_back({{i, i + 4, i + 8, i + 12}, 1_MiB + Bytes{i % 2 * 4096}});
  }
  const TaskGraphResult listed = run_jobs(cluster, jobs);
  for (const auto& order : {std::vector<int>{3, 2, 1, 0}, {1, 3, 0, 2}, {0, 2, 1, 3}}) {
    std::vector<Job> permuted;
    for (const int i : order) permuted.push_back(jobs[static_cast<std::size_t>(i)]);
    const TaskGraphResult result = run_jobs(cluster, permuted);
    EXPECT_EQ(result.digest, listed.digest);
    for (std::size_t i = 0; i < order.size(); ++i) {
      EXPECT_EQ(result.tasks[i].row.time,
                listed.tasks[static_cast<std::size_t>(order[i])].row.time);
    }
  }
  EXPECT_GT(listed.end, alone(cluster, jobs[0]));
  EXPECT_FALSE(listed.shared_links.empty());
}

// Marks, drawn losses of pace and PFC: two jobs over lossless Ethernet come to their end too, the
// same one twice.
TEST(TaskCompany, JobsShareLosslessEthernet) {
  Cluster cluster = two_leaves_of_four(4, 2);
  Network& network = cluster.network;
  network.kind = NetworkKind::kRoce;
  network.routing = Routing::kEcmp;
  network.switch_buffer = 16_MiB;
  network.pause.xoff = 100_KiB;
  network.pause.xon = 90_KiB;
  network.pause.response = 500_ns;
  const std::vector<Job> jobs{{{0, 4, 8, 12}, 1_MiB}, {{1, 5, 9, 13}, 1_MiB}};
  const TaskGraphResult once = run_jobs(cluster, jobs);
  EXPECT_EQ(once.digest, run_jobs(cluster, jobs).digest);
  EXPECT_GE(once.tasks[0].row.time, alone(cluster, jobs[0]));
}

}  // namespace
}  // namespace gradhaul

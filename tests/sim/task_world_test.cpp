// Several collectives in one cluster: alone as if there were no others, and one after the other as
// a task graph has them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "sim/predict.h"
#include "tests/sim/task_examples.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

// One communicator of all ranks is the plain run: to the picosecond, by the same path.
TEST(TaskWorld, AllRanksOfAClusterAreThePlainRun) {
  for (const Collective collective : {Collective::kAllReduce, Collective::kAllToAll}) {
    const Cluster cluster = one_switch(hgx_h100(), 2, 400_Gbps);
    PredictionRequest plain = request_for(cluster, 4_MiB);
    plain.workload.collective = collective;
    plain.skip_recurrences = false;
    const Prediction alone = predict(plain);
    TaskGraph graph;
    add_collective(graph, add_communicator(graph, gpus_from(0, 16)), 4_MiB, collective);
    const TaskGraphResult result = run_tasks(cluster, graph);
    const ResultRow& row = result.tasks[0].row;
    EXPECT_EQ(row.time, alone.rows[0].time);
    EXPECT_EQ(row.limited_by, alone.rows[0].limited_by);
    EXPECT_EQ(row.bytes_sent_per_rank, alone.rows[0].bytes_sent_per_rank);
    EXPECT_EQ(result.cost.packets, alone.cost.packets);
    ASSERT_EQ(row.parts.size(), alone.rows[0].parts.size());
    for (std::size_t i = 0; i < row.parts.size(); ++i) {
      EXPECT_EQ(row.parts[i].time, alone.rows[0].parts[i].time);
      EXPECT_EQ(row.parts[i].resource, alone.rows[0].parts[i].resource);
    }
  }
}

// Ring steps of two ranks over links of 50 GB/s and 1 us: two steps of half the message, sliced.
// The one after begins when the one before is complete, so n take n times as long.
TEST(TaskWorld, CollectivesOfACommunicatorFollowEachOther) {
  const Cluster cluster = ideal_cluster(2);
  for (const int count : {1, 2, 5}) {
    TaskGraph graph;
    const int pair = add_communicator(graph, {0, 1});
    for (int i = 0; i < count; ++i) add_collective(graph, pair, 1_MiB);
    const TaskGraphResult result = run_tasks(cluster, graph);
    const Duration each = result.tasks[0].row.time;
    for (int i = 0; i < count; ++i) {
      EXPECT_EQ(result.tasks[static_cast<std::size_t>(i)].row.time, each);
      EXPECT_EQ(result.tasks[static_cast<std::size_t>(i)].start, each * i);
    }
    EXPECT_EQ(result.end, each * count);
  }
}

// Each registers its message and, when all is there, takes that back; the next waits for that.
TEST(TaskWorld, CollectivesTakeBackWhatTheyRegister) {
  const auto run = [](Registering registering) {
    Communication communication;
    communication.registering = registering;
    TaskGraph graph;
    const int pair = add_communicator(graph, {0, 1}, communication);
    for (int i = 0; i < 2; ++i) add_collective(graph, pair, 1_MiB);
    return run_tasks(ideal_cluster(2), graph);
  };
  const Duration once = run(Registering::kOnce).tasks[0].row.time;
  const TaskGraphResult result = run(Registering::kPerTransfer);
  const Duration each = once + registration_time(kGpuRegistration, 1_MiB) +
                        deregistration_time(kGpuRegistration, 1_MiB);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(result.tasks[static_cast<std::size_t>(i)].row.time, each);
    EXPECT_EQ(result.tasks[static_cast<std::size_t>(i)].start, each * i);
  }
  EXPECT_EQ(result.end, each * 2);
}

// On hardware that takes its time, through all of the machinery of slots and credits: hundreds of
// collectives over the same connections, whose engines come and go.
TEST(TaskWorld, ManySmallCollectivesKeepTheirOrder) {
  const Cluster cluster = paired_cluster(2, 2);
  TaskGraph graph;
  const int all = add_communicator(graph, gpus_from(0, 4));
  const int odd = add_communicator(graph, {1, 3});
  for (int i = 0; i < 100; ++i) add_collective(graph, i % 3 == 0 ? odd : all, Bytes{4096 + 64 * i});
  const TaskGraphResult result = run_tasks(cluster, graph);
  Duration last;
  for (std::size_t i = 1; i < graph.tasks.size(); ++i) {
    if (graph.tasks[i].communicator != all) continue;
    EXPECT_GE(result.tasks[i].start, last);
    last = result.tasks[i].starts[0];
  }
}

// The end of a chain of delays, times and computations is known; GPUs wait for what they
// themselves did, and for nothing else.
TEST(TaskWorld, TasksBeginWhenTheirGpusAreReady) {
  const Cluster cluster = ideal_cluster(4);
  TaskGraph graph;
  const int pair = add_communicator(graph, {0, 1});
  const int other = add_communicator(graph, {2, 3});
  add_computation(graph, {0, 1}, 30_us);
  add_computation(graph, {1}, 12_us).after = {0};
  add_collective(graph, pair, 2_MiB).after = {0, 1};
  add_collective(graph, other, 2_MiB).at = 77_us;
  Task& late = add_computation(graph, {0, 2}, 5_us);
  late.after = {2, 3};
  late.delay = 3_us;
  const TaskGraphResult result = run_tasks(cluster, graph);
  EXPECT_EQ(result.tasks[0].end, 30_us);
  EXPECT_EQ(result.tasks[1].end, 42_us);
  EXPECT_THAT(result.tasks[2].starts, testing::ElementsAre(30_us, 42_us));
  EXPECT_EQ(result.tasks[2].start, 30_us);
  EXPECT_EQ(result.tasks[3].start, 77_us);
  EXPECT_EQ(result.tasks[4].starts[0], result.tasks[2].ends[0] + 3_us);
  EXPECT_EQ(result.tasks[4].starts[1], result.tasks[3].ends[0] + 3_us);
  EXPECT_EQ(result.end, result.tasks[4].end);
}

Duration sum_of(const std::vector<TimePart>& parts) {
  Duration sum;
  for (const TimePart& part : parts) sum += part.time;
  return sum;
}

// From the end back through what was waited for, across tasks and GPUs; nothing is left out.
TEST(TaskWorld, TheCriticalPathLeadsThroughTasks) {
  const Cluster cluster = ideal_cluster(3);
  TaskGraph graph;
  const int all = add_communicator(graph, {0, 1, 2});
  add_computation(graph, {0}, 10_us);
  add_computation(graph, {1}, 40_us);
  add_computation(graph, {2}, 25_us);
  add_collective(graph, all, 3_MiB).after = {0, 1, 2};
  Task& last = add_computation(graph, {0, 1, 2}, 7_us);
  last.after = {3};
  last.delay = 2_us;
  const TaskGraphResult result = run_tasks(cluster, graph);
  ASSERT_EQ(result.critical_path.size(), 3U);
  const PathStep& first = result.critical_path[0];
  EXPECT_EQ(first.task, 1);  // the slowest computation
  EXPECT_EQ(first.begin, Duration{});
  EXPECT_EQ(first.end, 40_us);
  const PathStep& collective = result.critical_path[1];
  EXPECT_EQ(collective.task, 3);
  EXPECT_EQ(collective.first_gpu, 1);
  EXPECT_EQ(collective.begin, 40_us);
  const PathStep& end = result.critical_path[2];
  EXPECT_EQ(end.task, 4);
  EXPECT_EQ(end.ready, collective.end);
  EXPECT_EQ(end.begin, collective.end + 2_us);
  EXPECT_EQ(end.first_gpu, collective.last_gpu);
  EXPECT_EQ(end.end, result.end);
  for (const PathStep& step : result.critical_path) {
    EXPECT_EQ(sum_of(step.parts), step.end - step.begin);
  }
  // The row counts from the first rank: that the second came 30 us later is a part of it.
  const ResultRow& row = result.tasks[3].row;
  EXPECT_EQ(sum_of(row.parts), row.time);
  const auto late = std::find_if(row.parts.begin(), row.parts.end(),
                                 [](const TimePart& part) { return part.cause == "late start"; });
  ASSERT_NE(late, row.parts.end());
  EXPECT_EQ(late->time, 30_us);
}

// c of m multiprocessors taken by channels: what takes w alone takes w m / (m - c), while the
// collective lasts.
TEST(TaskWorld, ChannelsTakeMultiprocessorsFromComputations) {
  const Cluster cluster = ideal_cluster(2);
  Communication four;
  four.channels = 4;
  for (const int units : {0, 100, 16}) {
    TaskGraph graph;
    graph.multiprocessors = units;
    add_collective(graph, add_communicator(graph, {0, 1}, four), 64_MiB);
    add_computation(graph, {0}, 600_us);
    add_computation(graph, {0}, 1000_us);  // no other computation slows it
    add_computation(graph, {1}, 4000_us);  // longer than the collective
    const TaskGraphResult result = run_tasks(cluster, graph);
    const std::int64_t left = units - 4;
    const auto slowed = [&](std::int64_t work) {
      return units == 0 ? work : (work * units + left - 1) / left;
    };
    EXPECT_EQ(result.tasks[1].end.ps, slowed(600'000'000));
    EXPECT_EQ(result.tasks[2].end.ps, slowed(1'000'000'000));
    // 64 MiB twice over by halves at 50 GB/s take longer than these two.
    const std::int64_t collective = result.tasks[0].end.ps;
    ASSERT_GT(collective, result.tasks[2].end.ps);
    ASSERT_LT(collective, 4'000'000'000);
    const std::int64_t missed = units == 0 ? 0 : collective * 4 / units;
    EXPECT_NEAR(static_cast<double>(result.tasks[3].end.ps), 4e9 + static_cast<double>(missed), 1);
  }
}

TEST(TaskWorld, RefusesWhatItCannotSimulate) {
  TaskGraph graph;
  add_collective(graph, add_communicator(graph, {0, 1}), 1_MiB);
  PredictionRequest request;
  request.cluster = ideal_cluster(2);
  request.fidelity = Fidelity::kFlow;
  EXPECT_THROW(predict_tasks(request, graph), SimulationError);
}

TEST(TaskWorld, EndsWhereItIsInterrupted) {
  TaskGraph graph;
  add_collective(graph, add_communicator(graph, gpus_from(0, 16)), 64_MiB);
  PredictionRequest request;
  request.cluster = one_switch(hgx_h100(), 2, 400_Gbps);
  const std::atomic<bool> interrupted = true;
  request.interrupted = &interrupted;
  EXPECT_TRUE(predict_tasks(request, graph).interrupted);
}

}  // namespace
}  // namespace gradhaul

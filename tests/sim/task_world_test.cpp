// Several collectives in one cluster: alone as if there were no others, together as the links that
// they share let them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "core/topology_size.h"
#include "sim/predict.h"
#include "sim/task_prediction.h"
#include "tests/sim/cluster_examples.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

std::vector<int> gpus(int first, int count, int step = 1) {
  std::vector<int> result;
  for (int i = 0; i < count; ++i) result.push_back(first + i * step);
  return result;
}

int add_communicator(TaskGraph& graph, std::vector<int> of_gpus, const Communication& how = {}) {
  graph.communicators.push_back({"", std::move(of_gpus), how});
  return static_cast<int>(graph.communicators.size()) - 1;
}

Task& add_collective(TaskGraph& graph, int communicator, Bytes size,
                     Collective collective = Collective::kAllReduce) {
  Task& task = graph.tasks.emplace_back();
  task.communicator = communicator;
  task.collective = collective;
  task.datatype = DataType::kBf16;
  task.size = size;
  return task;
}

PredictionRequest request_on(const Cluster& cluster) {
  PredictionRequest request;
  request.cluster = cluster;
  return request;
}

Duration time_of(const TaskGraphResult& result, std::size_t task) {
  return result.tasks[task].row.time;
}

// One job of all ranks is the plain run: to the picosecond, the same path and limit.
TEST(TaskWorld, AllRanksOfAClusterAreThePlainRun) {
  for (const Collective collective : {Collective::kAllReduce, Collective::kAllToAll}) {
    const Cluster cluster = one_switch(hgx_h100(), 2, 400_Gbps);
    PredictionRequest plain = request_for(cluster, 8_MiB);
    plain.workload.collective = collective;
    plain.skip_recurrences = false;
    const Prediction alone = predict(plain);
    TaskGraph graph;
    add_collective(graph, add_communicator(graph, gpus(0, 16)), 8_MiB, collective);
    const TaskGraphResult result = predict_tasks(request_on(cluster), graph);
    EXPECT_EQ(time_of(result, 0), alone.rows[0].time);
    EXPECT_EQ(result.tasks[0].row.limited_by, alone.rows[0].limited_by);
    EXPECT_EQ(result.tasks[0].row.bytes_sent_per_rank, alone.rows[0].bytes_sent_per_rank);
    EXPECT_EQ(result.cost.packets, alone.cost.packets);
  }
}

}  // namespace
}  // namespace gradhaul

#pragma once

// Task graphs for tests, in few words.

#include <utility>
#include <vector>

#include "core/task_graph.h"
#include "sim/task_prediction.h"
#include "tests/sim/cluster_examples.h"

namespace gradhaul::examples {

inline std::vector<int> gpus_from(int first, int count, int step = 1) {
  std::vector<int> result;
  for (int i = 0; i < count; ++i) result.push_back(first + i * step);
  return result;
}

inline int add_communicator(TaskGraph& graph, std::vector<int> gpus,
                            const Communication& how = {}) {
  graph.communicators.push_back({"", std::move(gpus), how});
  return static_cast<int>(graph.communicators.size()) - 1;
}

inline Task& add_collective(TaskGraph& graph, int communicator, Bytes size,
                            Collective collective = Collective::kAllReduce) {
  Task& task = graph.tasks.emplace_back();
  task.communicator = communicator;
  task.collective = collective;
  task.datatype = DataType::kBf16;
  task.size = size;
  return task;
}

inline Task& add_computation(TaskGraph& graph, std::vector<int> gpus, Duration work) {
  Task& task = graph.tasks.emplace_back();
  task.kind = TaskKind::kCompute;
  task.gpus = std::move(gpus);
  task.work = work;
  return task;
}

inline TaskGraphResult run_tasks(const Cluster& cluster, const TaskGraph& graph) {
  PredictionRequest request;
  request.cluster = cluster;
  return predict_tasks(request, graph);
}

// Two leaves with half of the nodes each, joined by one link through a spine; links of 50 GB/s and
// 1 us each, everything else free.
inline Cluster two_ideal_leaves(int nodes) {
  Cluster cluster = ideal_cluster(nodes);
  Topology& topology = cluster.network.topology;
  topology.kind = TopologyKind::kLeafSpine;
  topology.switch_ports = 64;
  topology.leaves = 2;
  topology.spines = 1;
  topology.uplinks_per_leaf = 1;
  cluster.network.oversubscription = nodes / 2.0;
  return cluster;
}

}  // namespace gradhaul::examples

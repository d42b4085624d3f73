#pragma once

// Several collectives, and computations between them, in one cluster: who does what, on which GPUs,
// and after what. Plain data; sim/task_prediction.h runs it. GPUs are numbered over all nodes of
// the cluster: GPU g of node n is n * node.gpu_count + g (Cluster::gpu_of has that of a rank).

#include <cstdint>
#include <string>
#include <vector>

#include "core/communication.h"
#include "core/quantities.h"
#include "core/workload.h"

namespace gradhaul {

// GPUs that communicate, and how. Its ranks are counted from 0.
struct Communicator {
  std::string name;
  std::vector<int> gpus;  // gpus[r]: that of rank r; at least two, each once
  Communication communication;
};

enum class TaskKind : std::uint8_t { kCollective, kCompute };

// On each of its GPUs by itself a task begins when
//   - the cluster's clock is at `at`,
//   - every task of `after` that runs on this GPU is complete there, and after that `delay`,
//   - and, of a collective, the collective listed before it of the same communicator is complete
//     there: a communicator's collectives follow each other, as those of a stream do.
// What does not run on this GPU is not waited for.
struct Task {
  std::string name;
  TaskKind kind = TaskKind::kCollective;

  // kCollective. Of each rank's message, as nccl-tests count it, whole elements.
  int communicator = -1;  // index
  Collective collective = Collective::kAllReduce;
  DataType datatype = DataType::kFp32;
  Reduction reduction = Reduction::kSum;
  Bytes size;
  bool launches = true;  // a kernel for it; else one that runs already posts it

  // kCompute: kernels that take this long on each of these GPUs, if nothing else runs there.
  std::vector<int> gpus;
  Duration work;

  Duration at;
  std::vector<int> after;  // indices, lower than its own
  Duration delay;
};

// Traffic of others, which no task waits for, between the NICs of a cluster: from each source a
// message in every interval of time, begun at a moment in it that a hash of (seed, source, count)
// draws, as long as tasks run. Messages go from GPU memory to GPU memory by RDMA writes.
enum class TrafficPattern : std::uint8_t {
  kPermutation,  // each NIC to one other of the same index, and from one
  kUniform,      // each to any other of the same index, drawn for each message
  kIncast,       // all to the NICs of the first node
  kAllToAll,     // each to every other of the same index, in turns
  kPairs,        // as listed
};

struct BackgroundTraffic {
  std::string name;
  TrafficPattern pattern = TrafficPattern::kPermutation;
  // Share of its wire that each source offers (of kIncast: that of each destination, all sources
  // together), headers included.
  double load = 0;
  Bytes message{1'000'000};
  std::vector<int> nodes;  // those taking part, ascending; empty: all
  // kPairs: NICs, node * node.nic_count + nic.
  struct Pair {
    int source = 0;
    int destination = 0;
  };
  std::vector<Pair> pairs;
};

struct TaskGraph {
  std::vector<Communicator> communicators;
  std::vector<Task> tasks;
  std::vector<BackgroundTraffic> background;
  // So many multiprocessors has a GPU, of which each channel of a collective that is under way
  // there takes one from computations (as NCCL's thread blocks do); 0: they do not compete.
  int multiprocessors = 0;
};

}  // namespace gradhaul

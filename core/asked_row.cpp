#include "core/asked_row.h"

namespace gradhaul {
namespace {

const char* algorithm_name(const Workload& workload, const Communication& communication) {
  if (workload.collective != Collective::kAllReduce) return "pairwise";
  return communication.algorithm == Algorithm::kDoubleBinaryTree ? "double_binary_tree" : "ring";
}

}  // namespace

ResultRow asked_row(const Workload& workload, const Communication& communication, int ranks,
                    int channels, Bytes size) {
  ResultRow row;
  row.collective = workload.collective;
  row.algorithm = algorithm_name(workload, communication);
  row.protocol = "simple";
  row.channels = channels;
  row.ranks = ranks;
  row.size = size;
  row.count = size.count / size_of(workload.datatype).count;
  row.datatype = workload.datatype;
  row.reduction = workload.reduction;
  return row;
}

}  // namespace gradhaul

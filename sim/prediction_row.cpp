#include "sim/prediction_row.h"

namespace gradhaul {
namespace {

const char* algorithm_name(const PredictionRequest& request) {
  if (request.workload.collective != Collective::kAllReduce) return "pairwise";
  return request.communication.algorithm == Algorithm::kDoubleBinaryTree ? "double_binary_tree"
                                                                         : "ring";
}

}  // namespace

Bytes whole_elements(const PredictionRequest& request, Bytes size) {
  const std::int64_t element = size_of(request.workload.datatype).count;
  return {size.count / element * element};
}

void show_placement(const Placement& placement, Prediction& prediction) {
  prediction.channels = placement.channels;
  prediction.rings = placement.rings;
  prediction.notes = placement.notes;
}

ResultRow prediction_row(const PredictionRequest& request, int channels, Bytes size) {
  ResultRow row;
  row.collective = request.workload.collective;
  row.algorithm = algorithm_name(request);
  row.protocol = "simple";
  row.channels = channels;
  row.ranks = request.cluster.ranks();
  row.size = size;
  row.count = size.count / size_of(request.workload.datatype).count;
  row.datatype = request.workload.datatype;
  row.reduction = request.workload.reduction;
  return row;
}

}  // namespace gradhaul

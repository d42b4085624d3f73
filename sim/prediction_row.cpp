#include "sim/prediction_row.h"

#include "core/asked_row.h"

namespace gradhaul {
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
  return asked_row(request.workload, request.communication, request.cluster.ranks(), channels,
                   size);
}

}  // namespace gradhaul

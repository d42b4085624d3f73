#include "core/operation_request.h"

namespace gradhaul {

ReduceRequest OperationRequests::of(const ItemOperation& item, int channel) const {
  ReduceRequest request;
  request.stream = channel;
  request.target = {Region::kOutput, element_ * item.span.first};
  request.left = {item.left, element_ * (item.span.first + item.left_shift)};
  request.count = item.span.count;
  request.datatype = settings_.datatype;
  request.reduction = settings_.reduction;
  if (!item.right) return request;
  request.kind = ReduceKind::kReduce;
  request.right = {item.right->region, element_ * (item.span.first + item.right->shift)};
  if (item.last_reduction) divide(request);
  return request;
}

void OperationRequests::take_in(ReduceRequest& request, const ItemOperation& item, int number,
                                BufferRef received) const {
  if (item.operation == Operation::kCopy) {
    request.left = received;
    return;
  }
  request.kind = ReduceKind::kReduce;
  if (number > 0) request.left = request.target;
  request.right = received;
  if (item.last_reduction && number + 1 == item.receive_count) divide(request);
}

// The sum is complete.
void OperationRequests::divide(ReduceRequest& request) const {
  if (settings_.reduction == Reduction::kAvg) request.divisor = ranks_;
}

}  // namespace gradhaul

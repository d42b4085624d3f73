#include "backends/cpu/cpu_reducer.h"

#include <cstring>
#include <span>

#include "core/assert.h"

namespace gradhaul {
namespace {

bool same_or_apart(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.data() == b.data() || a.data() + a.size() <= b.data() || b.data() + b.size() <= a.data();
}

}  // namespace

ElementOperation operation_of(const ReduceRequest& request) {
  const bool divides = request.divisor > 1;
  switch (request.reduction) {
    case Reduction::kSum:
      GRADHAUL_ASSERT(!divides, "only an average divides");
      return ElementOperation::kSum;
    case Reduction::kAvg:
      return divides ? ElementOperation::kSumThenDivide : ElementOperation::kSum;
    case Reduction::kMax:
      GRADHAUL_ASSERT(!divides, "only an average divides");
      return ElementOperation::kMax;
    case Reduction::kMin:
      GRADHAUL_ASSERT(!divides, "only an average divides");
      return ElementOperation::kMin;
  }
  assertion_failed("reduction is one of Reduction", __FILE__, __LINE__, "no such reduction");
}

CpuReducer::CpuReducer(const HostMemory& memory, InstructionSet set)
    : memory_(memory), kernels_(element_kernels(set)) {}

void CpuReducer::post_reduce(const ReduceRequest& request) {
  GRADHAUL_ASSERT(request.stream >= 0, "streams are counted from 0");
  GRADHAUL_ASSERT(request.count >= 1, "a reduce has at least one element");
  GRADHAUL_ASSERT(request.divisor >= 1, "a divisor is at least 1");
  const auto stream = static_cast<std::size_t>(request.stream);
  if (stream >= streams_.size()) streams_.resize(stream + 1);
  streams_[stream].push_back(request);
  ++pending_;
}

std::size_t CpuReducer::pending(std::int32_t stream) const {
  const auto index = static_cast<std::size_t>(stream);
  return stream >= 0 && index < streams_.size() ? streams_[index].size() : 0;
}

void CpuReducer::complete_oldest(std::int32_t stream, CompletionSink& sink) {
  GRADHAUL_ASSERT(pending(stream) > 0, "a stream without requests has nothing to complete");
  std::deque<ReduceRequest>& requests = streams_[static_cast<std::size_t>(stream)];
  compute(requests.front());
  requests.pop_front();
  --pending_;
  sink.on_completion(
      {.kind = CompletionKind::kReduceDone, .status = CompletionStatus::kOk, .id = stream});
}

bool CpuReducer::complete_one_of_each(CompletionSink& sink) {
  if (pending_ == 0) return false;
  // Posts from inside a completion may add streams.
  const auto streams = static_cast<std::int32_t>(streams_.size());
  for (std::int32_t stream = 0; stream < streams; ++stream) {
    if (pending(stream) > 0) complete_oldest(stream, sink);
  }
  return true;
}

void CpuReducer::compute(const ReduceRequest& request) const {
  const Bytes length = size_of(request.datatype) * request.count;
  const std::span<std::byte> target = bytes_at(memory_, request.target, length);
  const std::span<std::byte> left = bytes_at(memory_, request.left, length);
  GRADHAUL_ASSERT(same_or_apart(target, left), "target and left overlap wholly or not at all");
  if (request.kind == ReduceKind::kCopy) {
    if (target.data() != left.data()) std::memcpy(target.data(), left.data(), left.size());
    return;
  }
  const std::span<std::byte> right = bytes_at(memory_, request.right, length);
  GRADHAUL_ASSERT(same_or_apart(target, right), "target and right overlap wholly or not at all");
  const ElementOperands operands{.target = target.data(),
                                 .left = left.data(),
                                 .right = right.data(),
                                 .count = request.count,
                                 .divisor = request.divisor};
  kernels_.at(request.datatype, operation_of(request))(operands);
}

}  // namespace gradhaul

#include "backends/cuda/gpu_reducer.h"

#include <algorithm>
#include <bit>

#include "backends/cpu/cpu_reducer.h"
#include "backends/cuda/gpu_buffer.h"
#include "backends/cuda/reduce_operands.h"
#include "core/assert.h"

namespace gradhaul {
namespace {

constexpr std::int64_t kVector = 16;  // bytes of a thread's access
// Blocks of 256 threads that a multiprocessor holds at once [CUDA C++ Programming Guide, technical
// specifications: 2048 threads]; what is left over the grid strides to.
constexpr std::int64_t kBlocksOfMultiprocessor = 8;

// The widest power of two, up to a vector, that divides how far operands are from the target: so
// wide may loads be wherever the target is at a whole vector.
std::int32_t load_width(const GpuReduceOperands& operands) {
  const std::uint64_t apart =
      (operands.left - operands.target) | (operands.right - operands.target) | kVector;
  return static_cast<std::int32_t>(std::uint64_t{1} << std::countr_zero(apart));
}

}  // namespace

GpuReducer::GpuReducer(const CudaDevice& device, const HostMemory& memory)
    : device_(device), memory_(memory) {}

StreamWork& GpuReducer::stream(std::int32_t number) {
  GRADHAUL_ASSERT(number >= 0, "streams are counted from 0");
  while (streams_.size() <= static_cast<std::size_t>(number)) streams_.emplace_back(device_);
  return streams_[static_cast<std::size_t>(number)];
}

void GpuReducer::post_reduce(const ReduceRequest& request) {
  GRADHAUL_ASSERT(request.count >= 1, "a reduce has at least one element");
  StreamWork& work = stream(request.stream);
  if (request.kind == ReduceKind::kReduce) return launch(request, work);
  const Bytes length = size_of(request.datatype) * request.count;
  const std::span<std::byte> target = bytes_at(memory_, request.target, length);
  const std::span<std::byte> left = bytes_at(memory_, request.left, length);
  // Even where there is nothing to copy its turn comes after what was posted before.
  if (target.data() == left.data()) return work.count_one();
  work.copy(target.data(), left);
}

void GpuReducer::launch(const ReduceRequest& request, StreamWork& work) {
  const Bytes element = size_of(request.datatype);
  const Bytes length = element * request.count;
  GpuReduceOperands operands;
  operands.target = address_of(bytes_at(memory_, request.target, length).data());
  operands.left = address_of(bytes_at(memory_, request.left, length).data());
  operands.right = address_of(bytes_at(memory_, request.right, length).data());
  operands.count = request.count;
  operands.divisor = request.divisor;
  operands.width = load_width(operands);
  GRADHAUL_ASSERT(operands.target % static_cast<std::uint64_t>(element.count) == 0,
                  "a target lies at a multiple of its elements' size");
  const std::int64_t vectors = (length.count + kVector - 1) / kVector;
  const std::int64_t blocks = std::clamp<std::int64_t>(
      (vectors + kReduceThreads - 1) / kReduceThreads, 1,
      kBlocksOfMultiprocessor * std::max(1, device_.gpu().multiprocessors));
  void* parameters[] = {&operands};
  CudaFunctionHandle kernel = device_.reduce_kernel(request.datatype, operation_of(request));
  device_.check(device_.driver().launch(kernel, static_cast<unsigned>(blocks), 1, 1, kReduceThreads,
                                        1, 1, 0, work.stream(), parameters, nullptr),
                "a reduce kernel does not start");
  work.count_one();
}

bool GpuReducer::poll(CompletionSink& sink) {
  bool any = false;
  // Posts from inside a completion may add streams.
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (streams_[i].pending() == 0) continue;
    for (int left = streams_[i].take_completed(); left > 0; --left) {
      any = true;
      sink.on_completion({.kind = CompletionKind::kReduceDone, .id = static_cast<std::int32_t>(i)});
    }
  }
  return any;
}

bool GpuReducer::busy() const {
  return std::any_of(streams_.begin(), streams_.end(),
                     [](const StreamWork& work) { return work.pending() > 0; });
}

}  // namespace gradhaul

// Built so that an access at an address which a GPU would refuse ends the process (see
// tests/CMakeLists.txt).

#include "tests/fake_cuda/kernels_on_host.h"

#include "backends/cuda/reduce_kernels.cu"
#include "tests/fake_cuda/kernel_table.h"

namespace gradhaul::fake {
namespace {

#define GRADHAUL_ROWS(type)                                                                    \
  {"gradhaul_reduce_" #type "_sum", gradhaul_reduce_##type##_sum},                             \
      {"gradhaul_reduce_" #type "_sum_then_divide", gradhaul_reduce_##type##_sum_then_divide}, \
      {"gradhaul_reduce_" #type "_max", gradhaul_reduce_##type##_max}, {                       \
    "gradhaul_reduce_" #type "_min", gradhaul_reduce_##type##_min                              \
  }

constexpr KernelRow kKernels[] = {GRADHAUL_ROWS(fp32),  GRADHAUL_ROWS(fp16), GRADHAUL_ROWS(bf16),
                                  GRADHAUL_ROWS(int32), GRADHAUL_ROWS(int8), GRADHAUL_ROWS(uint8)};

}  // namespace

std::span<const KernelRow> kernels() { return kKernels; }

void run_grid(Kernel kernel, unsigned blocks, unsigned threads, const GpuReduceOperands& operands) {
  blockDim.x = threads;
  gridDim.x = blocks;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
    for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x) kernel(operands);
  }
}

}  // namespace gradhaul::fake

#pragma once

// The reduce kernels as functions of the host, by their names.

#include <span>
#include <string_view>

#include "backends/cuda/reduce_operands.h"

namespace gradhaul::fake {

using Kernel = void (*)(GpuReduceOperands);

struct KernelRow {
  std::string_view name;
  Kernel kernel = nullptr;
};

std::span<const KernelRow> kernels();

// All threads of all blocks, one after the other.
void run_grid(Kernel kernel, unsigned blocks, unsigned threads, const GpuReduceOperands& operands);

}  // namespace gradhaul::fake

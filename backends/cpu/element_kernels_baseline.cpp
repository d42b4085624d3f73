#include "backends/cpu/element_kernels_of_each_set.h"
#include "backends/cpu/element_loops.inl"

namespace gradhaul {

const ElementKernels& element_kernels_baseline() { return kKernels; }

}  // namespace gradhaul

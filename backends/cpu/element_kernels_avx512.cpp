#include "backends/cpu/element_kernels_of_each_set.h"

#if GRADHAUL_HAS_X86_SETS

#include <immintrin.h>

#include "backends/cpu/element_kernels.h"
#include "backends/cpu/half_floats.h"

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,f16c,prefer-vector-width=512")

#define GRADHAUL_F16C
#include "backends/cpu/element_loops.inl"

#pragma GCC pop_options

namespace gradhaul {

const ElementKernels& element_kernels_avx512() { return kKernels; }

}  // namespace gradhaul

#endif

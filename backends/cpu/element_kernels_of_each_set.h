#pragma once

// Each instruction set's table, from its own source file; element_kernels() chooses among them. The
// last two exist where g++ builds for x86-64: their files switch the instruction set by its
// pragmas.

#include "backends/cpu/element_kernels.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define GRADHAUL_HAS_X86_SETS 1
#else
#define GRADHAUL_HAS_X86_SETS 0
#endif

namespace gradhaul {

const ElementKernels& element_kernels_baseline();
const ElementKernels& element_kernels_avx2();
const ElementKernels& element_kernels_avx512();

}  // namespace gradhaul

#include "backends/cpu/element_kernels.h"

#include "backends/cpu/element_kernels_of_each_set.h"
#include "core/assert.h"

namespace gradhaul {

bool available(InstructionSet set) {
#if GRADHAUL_HAS_X86_SETS
  const bool avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("f16c") != 0;
  switch (set) {
    case InstructionSet::kBaseline:
      return true;
    case InstructionSet::kAvx2:
      return avx2;
    case InstructionSet::kAvx512:
      return avx2 && __builtin_cpu_supports("avx512f") != 0 &&
             __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
             __builtin_cpu_supports("avx512vl") != 0;
  }
  return false;
#else
  return set == InstructionSet::kBaseline;
#endif
}

InstructionSet best_instruction_set() {
  if (available(InstructionSet::kAvx512)) return InstructionSet::kAvx512;
  return available(InstructionSet::kAvx2) ? InstructionSet::kAvx2 : InstructionSet::kBaseline;
}

const ElementKernels& element_kernels(InstructionSet set) {
  GRADHAUL_ASSERT(available(set), "kernels are asked for only where the machine can run them");
#if GRADHAUL_HAS_X86_SETS
  if (set == InstructionSet::kAvx512) return element_kernels_avx512();
  if (set == InstructionSet::kAvx2) return element_kernels_avx2();
#endif
  return element_kernels_baseline();
}

}  // namespace gradhaul

#include "backends/cuda/cuda_device.h"

// The build defines GRADHAUL_KERNELS where there is an nvcc, as the path of what it made of
// reduce_kernels.cu: a "fat binary", as cuModuleLoadData() takes it.
#if defined(GRADHAUL_KERNELS)
__asm__(
    ".pushsection .rodata\n"
    ".balign 16\n"
    "gradhaul_kernel_image:\n"
    ".incbin \"" GRADHAUL_KERNELS
    "\"\n"
    ".popsection\n");
extern "C" const unsigned char gradhaul_kernel_image[];
#endif

namespace gradhaul {

const void* reduce_kernel_image() {
#if defined(GRADHAUL_KERNELS)
  return gradhaul_kernel_image;
#else
  return nullptr;
#endif
}

}  // namespace gradhaul

#pragma once

// GPUs as the driver lists them, and one of them opened: its primary context, which all ranks of a
// process share, and the reduce kernels.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/element_kernels.h"
#include "backends/cuda/cuda_driver.h"
#include "core/quantities.h"
#include "core/workload.h"

namespace gradhaul {

struct GpuDescription {
  int ordinal = 0;  // as CUDA numbers it here
  std::string name;
  std::string pci;  // "0000:19:00.0"
  int capability_major = 0;
  int capability_minor = 0;
  int multiprocessors = 0;
  Bytes memory;
  bool dma_buf = false;  // its memory can be told to other devices as a DMA-BUF
};

// Throws CudaError where there is none.
std::vector<GpuDescription> list_gpus(const CudaDriver& driver);

// "GPU 0 (NVIDIA H200 at 0000:19:00.0)"
std::string name_of(const GpuDescription& gpu);

// What nvcc made of reduce_kernels.cu when this program was built; nullptr: there was no nvcc.
const void* reduce_kernel_image();

class CudaDevice {
 public:
  // Opens GPU `ordinal`, and makes its context this thread's. `image`: as reduce_kernel_image()
  // has it. Throws CudaError.
  CudaDevice(const CudaDriver& driver, int ordinal, const void* image = reduce_kernel_image());
  ~CudaDevice();
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  const CudaDriver& driver() const { return driver_; }
  const GpuDescription& gpu() const { return gpu_; }
  // Before a thread's first call.
  void make_current() const;
  CudaFunctionHandle reduce_kernel(DataType type, ElementOperation operation) const {
    return kernels_[static_cast<std::size_t>(type)][static_cast<std::size_t>(operation)];
  }
  // Throws CudaError("GPU 0 (…): WHAT: error").
  void check(CudaResult result, const std::string& what) const;
  // From here on copies from this GPU to GPU `ordinal` go directly, where the machine lets them;
  // whether. Else the driver takes them through host memory.
  bool reach(int ordinal);

 private:
  void open(const void* image);
  void load_kernels();

  CudaDriver driver_;
  GpuDescription gpu_;
  CudaDeviceNumber number_ = 0;
  CudaContextHandle context_ = nullptr;
  CudaModuleHandle module_ = nullptr;
  std::vector<CudaDeviceNumber> peers_;  // whose contexts are retained
  std::array<std::array<CudaFunctionHandle, kElementOperations>, kDataTypes.size()> kernels_{};
};

}  // namespace gradhaul

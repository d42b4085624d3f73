#include "backends/cuda/cuda_device.h"

#include <string_view>

#include "core/workload_names.h"

namespace gradhaul {
namespace {

// In the order of ElementOperation.
constexpr std::array<std::string_view, kElementOperations> kOperationNames{"sum", "sum_then_divide",
                                                                           "max", "min"};

GpuDescription describe(const CudaDriver& driver, int ordinal) {
  const std::string who = "GPU " + std::to_string(ordinal) + " can't be asked what it is";
  CudaDeviceNumber number = 0;
  check_cuda(driver, driver.device(&number, ordinal), who);
  GpuDescription gpu;
  gpu.ordinal = ordinal;
  std::array<char, 256> text{};
  check_cuda(driver, driver.device_name(text.data(), static_cast<int>(text.size()), number), who);
  gpu.name = text.data();
  check_cuda(driver, driver.device_pci(text.data(), static_cast<int>(text.size()), number), who);
  gpu.pci = text.data();
  std::size_t bytes = 0;
  check_cuda(driver, driver.device_memory(&bytes, number), who);
  gpu.memory = {static_cast<std::int64_t>(bytes)};
  const auto attribute = [&](int which) {
    int value = 0;
    check_cuda(driver, driver.device_attribute(&value, which, number), who);
    return value;
  };
  gpu.capability_major = attribute(kCudaCapabilityMajor);
  gpu.capability_minor = attribute(kCudaCapabilityMinor);
  gpu.multiprocessors = attribute(kCudaMultiprocessors);
  // Drivers before CUDA 11.7 know no such attribute.
  int value = 0;
  const CudaResult asked = driver.device_attribute(&value, kCudaDmaBufSupported, number);
  gpu.dma_buf = asked == kCudaSuccess && value != 0 && driver.range_handle != nullptr;
  return gpu;
}

}  // namespace

std::vector<GpuDescription> list_gpus(const CudaDriver& driver) {
  int count = 0;
  check_cuda(driver, driver.device_count(&count), "GPUs can't be counted");
  if (count == 0) throw CudaError("CUDA's driver is there, and sees no GPU. Check nvidia-smi");
  std::vector<GpuDescription> gpus;
  for (int ordinal = 0; ordinal < count; ++ordinal) gpus.push_back(describe(driver, ordinal));
  return gpus;
}

std::string name_of(const GpuDescription& gpu) {
  return "GPU " + std::to_string(gpu.ordinal) + " (" + gpu.name + " at " + gpu.pci + ")";
}

CudaDevice::CudaDevice(const CudaDriver& driver, int ordinal, const void* image)
    : driver_(driver), gpu_(describe(driver, ordinal)) {
  if (image == nullptr) {
    throw CudaError(
        "this program was built without GPU kernels: there was no nvcc when it was configured. "
        "Install the CUDA Toolkit, and configure and build again");
  }
  check(driver_.device(&number_, ordinal), "it can't be opened");
  check(driver_.retain_context(&context_, number_), "it gives no context");
  try {
    open(image);
  } catch (const CudaError&) {
    driver_.release_context(number_);
    throw;
  }
}

CudaDevice::~CudaDevice() {
  driver_.set_context(context_);
  driver_.unload_module(module_);
  for (const CudaDeviceNumber peer : peers_) driver_.release_context(peer);
  driver_.release_context(number_);
}

void CudaDevice::open(const void* image) {
  make_current();
  const CudaResult loaded = driver_.load_module(&module_, image);
  if (loaded == kCudaNoBinaryForGpu) {
    throw CudaError(name_of(gpu_) + ": this program's kernels are not for compute capability " +
                    std::to_string(gpu_.capability_major) + "." +
                    std::to_string(gpu_.capability_minor) +
                    ": build it with a CUDA Toolkit that knows this GPU");
  }
  check(loaded,
        "it does not load the reduce kernels (a driver older than the CUDA Toolkit that "
        "this program was built with?)");
  load_kernels();
}

void CudaDevice::load_kernels() {
  for (const DataType type : kDataTypes) {
    auto& kernels = kernels_[static_cast<std::size_t>(type)];
    for (std::size_t operation = 0; operation < kElementOperations; ++operation) {
      const std::string name = "gradhaul_reduce_" + std::string(name_of(type)) + "_" +
                               std::string(kOperationNames[operation]);
      check(driver_.function(&kernels[operation], module_, name.c_str()),
            "it has no kernel " + name);
    }
  }
}

void CudaDevice::make_current() const {
  check(driver_.set_context(context_), "its context can't be entered");
}

void CudaDevice::check(CudaResult result, const std::string& what) const {
  if (result != kCudaSuccess) {
    throw CudaError(name_of(gpu_) + ": " + what + ": " + error_text(driver_, result));
  }
}

bool CudaDevice::reach(int ordinal) {
  if (ordinal == gpu_.ordinal) return true;
  CudaDeviceNumber peer = 0;
  int can = 0;
  check(driver_.device(&peer, ordinal), "GPU " + std::to_string(ordinal) + " is not there");
  check(driver_.can_access_peer(&can, number_, peer), "it can't be asked for its peers");
  if (can == 0) return false;
  CudaContextHandle context = nullptr;
  check(driver_.retain_context(&context, peer),
        "GPU " + std::to_string(ordinal) + " gives no context");
  peers_.push_back(peer);
  make_current();
  const CudaResult enabled = driver_.enable_peer_access(context, 0);
  return enabled == kCudaSuccess || enabled == kCudaPeerAccessAlreadyEnabled;
}

}  // namespace gradhaul

#include "backends/cuda/cuda_driver.h"

#include <dlfcn.h>

namespace gradhaul {
namespace {

class Finder {
 public:
  explicit Finder(void* library) : library_(library) {}

  template <typename Function>
  void find_optional(const char* name, Function*& function) const {
    function = reinterpret_cast<Function*>(dlsym(library_, name));
  }
  template <typename Function>
  void find(const char* name, Function*& function) const {
    find_optional(name, function);
    if (function == nullptr) {
      throw CudaError(std::string("the driver's libcuda.so.1 has no ") + name +
                      ": a driver for CUDA 11 or later is needed");
    }
  }

 private:
  void* library_;
};

void find_devices(const Finder& in, CudaDriver& driver) {
  in.find("cuInit", driver.init);
  in.find("cuDriverGetVersion", driver.driver_version);
  in.find("cuGetErrorName", driver.error_name);
  in.find("cuGetErrorString", driver.error_string);
  in.find("cuDeviceGetCount", driver.device_count);
  in.find("cuDeviceGet", driver.device);
  in.find("cuDeviceGetName", driver.device_name);
  in.find("cuDeviceGetPCIBusId", driver.device_pci);
  in.find("cuDeviceGetAttribute", driver.device_attribute);
  in.find("cuDeviceTotalMem_v2", driver.device_memory);
  in.find("cuDeviceCanAccessPeer", driver.can_access_peer);
  in.find("cuCtxEnablePeerAccess", driver.enable_peer_access);
  in.find("cuDevicePrimaryCtxRetain", driver.retain_context);
  in.find("cuDevicePrimaryCtxRelease_v2", driver.release_context);
  in.find("cuCtxSetCurrent", driver.set_context);
}

void find_memory(const Finder& in, CudaDriver& driver) {
  in.find("cuMemGetInfo_v2", driver.memory_info);
  in.find("cuMemAlloc_v2", driver.allocate);
  in.find("cuMemFree_v2", driver.free);
  in.find("cuMemHostAlloc", driver.allocate_host);
  in.find("cuMemFreeHost", driver.free_host);
  in.find("cuPointerSetAttribute", driver.set_pointer_attribute);
  in.find("cuMemcpyAsync", driver.copy);
  in.find("cuIpcGetMemHandle", driver.ipc_handle);
  in.find("cuIpcOpenMemHandle_v2", driver.open_ipc_handle);
  in.find("cuIpcCloseMemHandle", driver.close_ipc_handle);
  in.find_optional("cuMemGetHandleForAddressRange", driver.range_handle);
}

void find_work(const Finder& in, CudaDriver& driver) {
  in.find("cuStreamCreate", driver.create_stream);
  in.find("cuStreamDestroy_v2", driver.destroy_stream);
  in.find("cuStreamSynchronize", driver.synchronize_stream);
  in.find("cuEventCreate", driver.create_event);
  in.find("cuEventDestroy_v2", driver.destroy_event);
  in.find("cuEventRecord", driver.record_event);
  in.find("cuEventQuery", driver.query_event);
  in.find("cuModuleLoadData", driver.load_module);
  in.find("cuModuleUnload", driver.unload_module);
  in.find("cuModuleGetFunction", driver.function);
  in.find("cuLaunchKernel", driver.launch);
}

}  // namespace

CudaDriver open_cuda_driver(const std::string& library) {
  // Stays open: the driver keeps threads in it.
  void* const opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) {
    const char* reason = dlerror();
    throw CudaError(std::string("CUDA's driver can't be opened: ") +
                    (reason == nullptr ? "no reason given" : reason) +
                    ". It comes with NVIDIA's driver for the GPU; nvidia-smi shows whether that is "
                    "installed and sees one");
  }
  CudaDriver driver{};
  const Finder finder(opened);
  find_devices(finder, driver);
  find_memory(finder, driver);
  find_work(finder, driver);
  const CudaResult result = driver.init(0);
  if (result == kCudaNoDevice) {
    throw CudaError(
        "CUDA's driver is there, and sees no GPU. Check nvidia-smi, and whether "
        "CUDA_VISIBLE_DEVICES or the container hides them");
  }
  check_cuda(driver, result, "CUDA's driver does not start (cuInit)");
  return driver;
}

std::string error_text(const CudaDriver& driver, CudaResult error) {
  const char* name = nullptr;
  const char* text = nullptr;
  driver.error_name(error, &name);
  driver.error_string(error, &text);
  return std::string(text == nullptr ? "an unknown error" : text) + " (" +
         (name == nullptr ? "" : std::string(name) + ", ") + std::to_string(error) + ")";
}

void check_cuda(const CudaDriver& driver, CudaResult result, const std::string& what) {
  if (result != kCudaSuccess) throw CudaError(what + ": " + error_text(driver, result));
}

}  // namespace gradhaul

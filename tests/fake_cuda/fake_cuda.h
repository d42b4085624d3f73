#pragma once

// How tests come by the fake libcuda.so.1, which lies beside their programs, and what they may ask
// it.

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "backends/cuda/cuda_driver.h"

namespace gradhaul::fake {

inline std::string cuda_folder() {
  return (std::filesystem::canonical("/proc/self/exe").parent_path() / "fake_cuda").string();
}

// What the fake takes for kernels, and a GPU would not.
inline const void* kernel_image() {
  static constexpr std::uint32_t kFatBinary = 0xba55ed50;
  return &kFatBinary;
}

// The machine that it shows from the next open_cuda_driver() on; see fake_machine.h.
class FakeCuda {
 public:
  explicit FakeCuda(const std::string& layout = "") : handle_(dlopen(library().c_str(), RTLD_NOW)) {
    if (handle_ == nullptr) throw std::runtime_error(dlerror());
    setenv("FAKE_CUDA", layout.c_str(), 1);
    live_objects_ =
        reinterpret_cast<decltype(live_objects_)>(dlsym(handle_, "fake_cuda_live_objects"));
    pending_ = reinterpret_cast<decltype(pending_)>(dlsym(handle_, "fake_cuda_pending"));
    view_ = reinterpret_cast<decltype(view_)>(dlsym(handle_, "fake_cuda_view"));
  }
  static std::string library() { return cuda_folder() + "/libcuda.so.1"; }
  // Allocations, streams and events that were not given back.
  std::size_t live_objects() const { return live_objects_(); }
  // Copies, kernels and events that wait in streams.
  std::size_t pending() const { return pending_(); }
  // Where a test may read and write what lies at an address of a device.
  std::byte* view(const std::byte* address, std::size_t bytes) const {
    return view_(reinterpret_cast<CudaAddress>(address), bytes);
  }

 private:
  void* handle_;
  std::size_t (*live_objects_)() = nullptr;
  std::size_t (*pending_)() = nullptr;
  std::byte* (*view_)(CudaAddress, std::size_t) = nullptr;
};

}  // namespace gradhaul::fake

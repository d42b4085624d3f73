// A libcuda.so.1 without a GPU: the functions of CUDA's driver that this program calls
// (backends/cuda/cuda_driver.h), over a fake machine. It holds its user to the standard: contexts
// are entered, ranges lie within allocations, kernels get what they may access.

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tests/fake_cuda/fake_machine.h"
#include "tests/fake_cuda/kernel_table.h"

namespace gradhaul::fake {
namespace {

// A context is the number of its device, counted from 1.
thread_local std::uintptr_t current = 0;

Machine& machine() { return Machine::one(); }
int current_device() { return static_cast<int>(current) - 1; }

// What every call that works in a context begins with.
CudaResult entered() { return current == 0 ? kInvalidContext : machine().sticky; }

struct IpcContent {
  pid_t process = 0;
  int file = -1;
  std::size_t size = 0;
  int owner = 0;
};

using Lock = std::lock_guard<std::mutex>;

const char* text_of(CudaResult error) {
  switch (error) {
    case kCudaOutOfMemory:
      return "out of memory";
    case kIllegalAddress:
      return "an illegal memory access was encountered";
    case kNotSupported:
      return "operation not supported";
    case kPeerAccessUnsupported:
      return "peer access is not supported between these two devices";
    default:
      return "an error of the fake";
  }
}

void run(Kernel kernel, unsigned blocks, unsigned threads, GpuReduceOperands operands,
         std::size_t element) {
  Machine& on = machine();
  const auto bytes = static_cast<std::size_t>(operands.count) * element;
  for (std::uint64_t* address : {&operands.target, &operands.left, &operands.right}) {
    // As aligned as the device's address is: pages are.
    std::byte* const place = on.allocation(*address) == nullptr ? nullptr : on.at(*address, bytes);
    if (place == nullptr) {
      on.sticky = kIllegalAddress;
      return;
    }
    *address = reinterpret_cast<std::uint64_t>(place);
  }
  run_grid(kernel, blocks, threads, operands);
}

}  // namespace
}  // namespace gradhaul::fake

using namespace gradhaul;
using namespace gradhaul::fake;

extern "C" {

// For tests: allocations, pinned memory, streams and events that nobody has given back.
std::size_t fake_cuda_live_objects() { return machine().live_objects(); }
std::size_t fake_cuda_pending() {
  const Lock lock(machine().mutex);
  std::size_t pieces = 0;
  for (const Stream* stream : machine().streams) pieces += stream->work.size();
  return pieces;
}
// Where a test may look at what lies at an address of a device.
std::byte* fake_cuda_view(CudaAddress address, std::size_t bytes) {
  const Lock lock(machine().mutex);
  return machine().at(address, bytes);
}

CudaResult cuInit(unsigned /*flags*/) {
  const Lock lock(machine().mutex);
  machine().start();
  return machine().layout.devices == 0 ? kCudaNoDevice : kCudaSuccess;
}
CudaResult cuDriverGetVersion(int* version) {
  *version = 13000;
  return kCudaSuccess;
}
CudaResult cuGetErrorName(CudaResult error, const char** name) {
  *name = error == kCudaOutOfMemory         ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == kIllegalAddress        ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : error == kPeerAccessUnsupported ? "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED"
                                            : "CUDA_ERROR";
  return kCudaSuccess;
}
CudaResult cuGetErrorString(CudaResult error, const char** text) {
  *text = text_of(error);
  return kCudaSuccess;
}
CudaResult cuDeviceGetCount(int* count) {
  *count = machine().layout.devices;
  return kCudaSuccess;
}
CudaResult cuDeviceGet(CudaDeviceNumber* device, int ordinal) {
  if (ordinal < 0 || ordinal >= machine().layout.devices) return kInvalidDevice;
  *device = ordinal;
  return kCudaSuccess;
}
CudaResult cuDeviceGetName(char* name, int room, CudaDeviceNumber /*device*/) {
  std::strncpy(name, "Fake GPU", static_cast<std::size_t>(room));
  return kCudaSuccess;
}
CudaResult cuDeviceGetPCIBusId(char* address, int room, CudaDeviceNumber device) {
  const std::string text = "0000:0" + std::to_string(device + 1) + ":00.0";
  std::strncpy(address, text.c_str(), static_cast<std::size_t>(room));
  return kCudaSuccess;
}
CudaResult cuDeviceGetAttribute(int* value, int attribute, CudaDeviceNumber /*device*/) {
  const Layout& layout = machine().layout;
  switch (attribute) {
    case kCudaMultiprocessors:
      *value = 4;
      return kCudaSuccess;
    case kCudaCapabilityMajor:
      *value = layout.major;
      return kCudaSuccess;
    case kCudaCapabilityMinor:
      *value = layout.minor;
      return kCudaSuccess;
    case kCudaDmaBufSupported:
      *value = layout.dma_buf ? 1 : 0;
      return kCudaSuccess;
    default:
      return kInvalidValue;
  }
}
CudaResult cuDeviceTotalMem_v2(std::size_t* bytes, CudaDeviceNumber /*device*/) {
  *bytes = machine().layout.memory;
  return kCudaSuccess;
}
CudaResult cuDeviceCanAccessPeer(int* can, CudaDeviceNumber /*device*/, CudaDeviceNumber /*peer*/) {
  *can = machine().layout.peers ? 1 : 0;
  return kCudaSuccess;
}
CudaResult cuCtxEnablePeerAccess(CudaContextHandle peer, unsigned /*flags*/) {
  if (current == 0) return kInvalidContext;
  return reinterpret_cast<std::uintptr_t>(peer) == current ? kInvalidDevice : kCudaSuccess;
}
CudaResult cuDevicePrimaryCtxRetain(CudaContextHandle* context, CudaDeviceNumber device) {
  *context = reinterpret_cast<CudaContextHandle>(static_cast<std::uintptr_t>(device) + 1);
  return kCudaSuccess;
}
CudaResult cuDevicePrimaryCtxRelease_v2(CudaDeviceNumber /*device*/) { return kCudaSuccess; }
CudaResult cuCtxSetCurrent(CudaContextHandle context) {
  current = reinterpret_cast<std::uintptr_t>(context);
  return kCudaSuccess;
}

CudaResult cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  *total = machine().layout.memory;
  *free = *total - machine().used;
  return kCudaSuccess;
}
CudaResult cuMemAlloc_v2(CudaAddress* address, std::size_t bytes) {
  const Lock lock(machine().mutex);
  if (const CudaResult error = entered(); error != kCudaSuccess) return error;
  return machine().allocate(address, bytes, current_device());
}
CudaResult cuMemFree_v2(CudaAddress address) {
  const Lock lock(machine().mutex);
  return machine().free(address, false);
}
CudaResult cuMemHostAlloc(void** address, std::size_t bytes, unsigned /*flags*/) {
  const Lock lock(machine().mutex);
  if (const CudaResult error = entered(); error != kCudaSuccess) return error;
  *address = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  machine().pinned.insert(*address);
  return kCudaSuccess;
}
CudaResult cuMemFreeHost(void* address) {
  const Lock lock(machine().mutex);
  machine().finish_all();
  if (machine().pinned.erase(address) == 0) return kInvalidValue;
  std::free(address);
  return kCudaSuccess;
}
CudaResult cuPointerSetAttribute(const void* /*value*/, int attribute, CudaAddress address) {
  const bool known = attribute == kCudaSyncMemops && machine().allocation(address) != nullptr;
  return known ? kCudaSuccess : kInvalidValue;
}
CudaResult cuMemcpyAsync(CudaAddress target, CudaAddress source, std::size_t bytes,
                         CudaStreamHandle stream) {
  const Lock lock(machine().mutex);
  if (const CudaResult error = entered(); error != kCudaSuccess) return error;
  auto* on = reinterpret_cast<Stream*>(stream);
  if (machine().streams.count(on) == 0) return kInvalidHandle;
  std::byte* const to = machine().at(target, bytes);
  const std::byte* const from = machine().at(source, bytes);
  if (to == nullptr || from == nullptr) return kInvalidValue;
  on->work.emplace_back([=] { std::memmove(to, from, bytes); });
  return kCudaSuccess;
}
CudaResult cuIpcGetMemHandle(CudaIpcHandle* handle, CudaAddress address) {
  const Lock lock(machine().mutex);
  const Allocation* of = machine().allocation(address);
  if (!machine().layout.ipc) return kNotSupported;
  if (of == nullptr) return kInvalidValue;
  const IpcContent content{getpid(), of->file, of->size, of->owner};
  std::memcpy(handle->bytes, &content, sizeof content);
  return kCudaSuccess;
}
CudaResult cuIpcOpenMemHandle_v2(CudaAddress* address, CudaIpcHandle handle, unsigned /*flags*/) {
  const Lock lock(machine().mutex);
  if (const CudaResult error = entered(); error != kCudaSuccess) return error;
  IpcContent content;
  std::memcpy(&content, handle.bytes, sizeof content);
  if (content.process == getpid()) return kInvalidContext;
  const bool reached = machine().layout.peers || content.owner == current_device();
  if (!reached) return kPeerAccessUnsupported;
  const std::string path =
      "/proc/" + std::to_string(content.process) + "/fd/" + std::to_string(content.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return kInvalidHandle;
  flock(file, LOCK_SH);
  return machine().map(address, file, content.size, content.owner, true);
}
CudaResult cuIpcCloseMemHandle(CudaAddress address) {
  const Lock lock(machine().mutex);
  return machine().free(address, true);
}
CudaResult cuMemGetHandleForAddressRange(void* handle, CudaAddress address, std::size_t bytes,
                                         int type, unsigned long long flags) {
  const Lock lock(machine().mutex);
  if (!machine().layout.dma_buf || type != kCudaDmaBufFile || flags != 0) return kNotSupported;
  const Allocation* of = machine().allocation(address);
  if (of == nullptr || bytes % 4096 != 0) return kInvalidValue;
  if (address != reinterpret_cast<CudaAddress>(of->device)) return kInvalidValue;
  *static_cast<int*>(handle) = dup(of->file);
  return kCudaSuccess;
}

CudaResult cuStreamCreate(CudaStreamHandle* stream, unsigned /*flags*/) {
  const Lock lock(machine().mutex);
  if (const CudaResult error = entered(); error != kCudaSuccess) return error;
  auto* made = new Stream;
  machine().streams.insert(made);
  *stream = reinterpret_cast<CudaStreamHandle>(made);
  return kCudaSuccess;
}
CudaResult cuStreamDestroy_v2(CudaStreamHandle stream) {
  const Lock lock(machine().mutex);
  auto* gone = reinterpret_cast<Stream*>(stream);
  if (machine().streams.count(gone) == 0) return kInvalidHandle;
  machine().finish(*gone);
  machine().streams.erase(gone);
  delete gone;
  return machine().sticky;
}
CudaResult cuStreamSynchronize(CudaStreamHandle stream) {
  const Lock lock(machine().mutex);
  auto* on = reinterpret_cast<Stream*>(stream);
  if (machine().streams.count(on) == 0) return kInvalidHandle;
  machine().finish(*on);
  return entered();
}
CudaResult cuEventCreate(CudaEventHandle* event, unsigned /*flags*/) {
  const Lock lock(machine().mutex);
  if (const CudaResult error = entered(); error != kCudaSuccess) return error;
  auto* made = new Event;
  machine().events.insert(made);
  *event = reinterpret_cast<CudaEventHandle>(made);
  return kCudaSuccess;
}
CudaResult cuEventDestroy_v2(CudaEventHandle event) {
  const Lock lock(machine().mutex);
  auto* gone = reinterpret_cast<Event*>(event);
  if (machine().events.erase(gone) == 0) return kInvalidHandle;
  delete gone;
  return kCudaSuccess;
}
CudaResult cuEventRecord(CudaEventHandle event, CudaStreamHandle stream) {
  const Lock lock(machine().mutex);
  if (const CudaResult error = entered(); error != kCudaSuccess) return error;
  auto* what = reinterpret_cast<Event*>(event);
  auto* on = reinterpret_cast<Stream*>(stream);
  if (machine().events.count(what) == 0 || machine().streams.count(on) == 0) return kInvalidHandle;
  what->recorded = true;
  what->come = false;
  on->work.emplace_back([what] { what->come = true; });
  return kCudaSuccess;
}
CudaResult cuEventQuery(CudaEventHandle event) {
  const Lock lock(machine().mutex);
  auto* what = reinterpret_cast<Event*>(event);
  if (machine().events.count(what) == 0 || !what->recorded) return kInvalidHandle;
  if (!what->come) machine().let_time_pass();
  if (const CudaResult error = entered(); error != kCudaSuccess) return error;
  return what->come ? kCudaSuccess : kCudaNotReady;
}

CudaResult cuModuleLoadData(CudaModuleHandle* module, const void* image) {
  // The magic number of a "fat binary".
  constexpr std::uint32_t kFatBinary = 0xba55ed50;
  if (entered() != kCudaSuccess) return entered();
  std::uint32_t magic = 0;
  std::memcpy(&magic, image, sizeof magic);
  if (magic != kFatBinary) return kInvalidImage;
  *module = reinterpret_cast<CudaModuleHandle>(std::uintptr_t{1});
  return kCudaSuccess;
}
CudaResult cuModuleUnload(CudaModuleHandle /*module*/) { return kCudaSuccess; }
CudaResult cuModuleGetFunction(CudaFunctionHandle* function, CudaModuleHandle /*module*/,
                               const char* name) {
  for (const KernelRow& row : kernels()) {
    if (row.name != name) continue;
    *function = reinterpret_cast<CudaFunctionHandle>(const_cast<KernelRow*>(&row));
    return kCudaSuccess;
  }
  return kNotFound;
}
CudaResult cuLaunchKernel(CudaFunctionHandle function, unsigned blocks, unsigned /*blocks_y*/,
                          unsigned /*blocks_z*/, unsigned threads, unsigned /*threads_y*/,
                          unsigned /*threads_z*/, unsigned /*shared_bytes*/,
                          CudaStreamHandle stream, void** parameters, void** /*extra*/) {
  const Lock lock(machine().mutex);
  if (const CudaResult error = entered(); error != kCudaSuccess) return error;
  auto* on = reinterpret_cast<Stream*>(stream);
  if (machine().streams.count(on) == 0) return kInvalidHandle;
  if (blocks == 0 || threads == 0 || threads > kReduceThreads) return kInvalidValue;
  const auto& row = *reinterpret_cast<const KernelRow*>(function);
  const bool half = row.name.find("16") != std::string_view::npos;
  const bool fails = ++machine().launches == machine().layout.kernel_error;
  GpuReduceOperands operands = *static_cast<const GpuReduceOperands*>(parameters[0]);
  if (fails) operands.right = 0;
  on->work.emplace_back(
      [=, kernel = row.kernel] { run(kernel, blocks, threads, operands, half ? 2 : 4); });
  return kCudaSuccess;
}

}  // extern "C"

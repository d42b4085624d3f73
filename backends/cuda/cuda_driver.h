#pragma once

// The functions of CUDA's driver that this program calls, so that the driver can be opened at run
// time, that nothing of CUDA is needed to build, and that a fake can stand in its place. Types,
// values and names are those of cuda.h (CUDA Toolkit 13.0, Driver API); a name with _v2 is what
// cuda.h makes of the plain one. All return 0 or an error, but may also give the error of some
// earlier, asynchronous work.

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "backends/measure/rank_memory.h"

namespace gradhaul {

// CUresult
using CudaResult = int;
inline constexpr CudaResult kCudaSuccess = 0;
inline constexpr CudaResult kCudaOutOfMemory = 2;
inline constexpr CudaResult kCudaNoDevice = 100;
inline constexpr CudaResult kCudaNoBinaryForGpu = 209;
inline constexpr CudaResult kCudaPeerAccessAlreadyEnabled = 704;
inline constexpr CudaResult kCudaNotReady = 600;

using CudaDeviceNumber = int;            // CUdevice
using CudaAddress = unsigned long long;  // CUdeviceptr
struct CudaContextTag;
struct CudaStreamTag;
struct CudaEventTag;
struct CudaModuleTag;
struct CudaFunctionTag;
using CudaContextHandle = CudaContextTag*;    // CUcontext
using CudaStreamHandle = CudaStreamTag*;      // CUstream
using CudaEventHandle = CudaEventTag*;        // CUevent
using CudaModuleHandle = CudaModuleTag*;      // CUmodule
using CudaFunctionHandle = CudaFunctionTag*;  // CUfunction

// CUdevice_attribute
inline constexpr int kCudaMultiprocessors = 16;
inline constexpr int kCudaCapabilityMajor = 75;
inline constexpr int kCudaCapabilityMinor = 76;
inline constexpr int kCudaDmaBufSupported = 124;
// CU_STREAM_NON_BLOCKING, CU_EVENT_DISABLE_TIMING
inline constexpr unsigned kCudaStreamNonBlocking = 1;
inline constexpr unsigned kCudaEventWithoutTiming = 2;
// CU_MEMHOSTALLOC_PORTABLE: pinned for all contexts
inline constexpr unsigned kCudaHostPortable = 1;
// CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
inline constexpr int kCudaSyncMemops = 6;
// CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD
inline constexpr int kCudaDmaBufFile = 1;
// CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
inline constexpr unsigned kCudaIpcPeerAccess = 1;

struct CudaIpcHandle {  // CUipcMemHandle
  char bytes[64] = {};
};

struct CudaDriver {
  CudaResult (*init)(unsigned flags);
  CudaResult (*driver_version)(int* version);  // 1000 major + 10 minor
  CudaResult (*error_name)(CudaResult error, const char** name);
  CudaResult (*error_string)(CudaResult error, const char** text);
  CudaResult (*device_count)(int* count);
  CudaResult (*device)(CudaDeviceNumber* device, int ordinal);
  CudaResult (*device_name)(char* name, int room, CudaDeviceNumber device);
  CudaResult (*device_pci)(char* address, int room, CudaDeviceNumber device);
  CudaResult (*device_attribute)(int* value, int attribute, CudaDeviceNumber device);
  CudaResult (*device_memory)(std::size_t* bytes, CudaDeviceNumber device);
  CudaResult (*can_access_peer)(int* can, CudaDeviceNumber device, CudaDeviceNumber peer);
  CudaResult (*enable_peer_access)(CudaContextHandle peer, unsigned flags);
  CudaResult (*retain_context)(CudaContextHandle* context, CudaDeviceNumber device);
  CudaResult (*release_context)(CudaDeviceNumber device);
  CudaResult (*set_context)(CudaContextHandle context);  // of this thread
  CudaResult (*memory_info)(std::size_t* free, std::size_t* total);
  CudaResult (*allocate)(CudaAddress* address, std::size_t bytes);
  CudaResult (*free)(CudaAddress address);
  CudaResult (*allocate_host)(void** address, std::size_t bytes, unsigned flags);
  CudaResult (*free_host)(void* address);
  CudaResult (*set_pointer_attribute)(const void* value, int attribute, CudaAddress address);
  // Between any memory of hosts and devices, which share one space of addresses.
  CudaResult (*copy)(CudaAddress target, CudaAddress source, std::size_t bytes,
                     CudaStreamHandle stream);
  CudaResult (*create_stream)(CudaStreamHandle* stream, unsigned flags);
  CudaResult (*destroy_stream)(CudaStreamHandle stream);
  CudaResult (*synchronize_stream)(CudaStreamHandle stream);
  CudaResult (*create_event)(CudaEventHandle* event, unsigned flags);
  CudaResult (*destroy_event)(CudaEventHandle event);
  CudaResult (*record_event)(CudaEventHandle event, CudaStreamHandle stream);
  CudaResult (*query_event)(CudaEventHandle event);  // kCudaNotReady
  CudaResult (*load_module)(CudaModuleHandle* module, const void* image);
  CudaResult (*unload_module)(CudaModuleHandle module);
  CudaResult (*function)(CudaFunctionHandle* function, CudaModuleHandle module, const char* name);
  CudaResult (*launch)(CudaFunctionHandle function, unsigned blocks, unsigned blocks_y,
                       unsigned blocks_z, unsigned threads, unsigned threads_y, unsigned threads_z,
                       unsigned shared_bytes, CudaStreamHandle stream, void** parameters,
                       void** extra);
  CudaResult (*ipc_handle)(CudaIpcHandle* handle, CudaAddress address);
  CudaResult (*open_ipc_handle)(CudaAddress* address, CudaIpcHandle handle, unsigned flags);
  CudaResult (*close_ipc_handle)(CudaAddress address);
  // nullptr before CUDA 11.7.
  CudaResult (*range_handle)(void* handle, CudaAddress address, std::size_t bytes, int type,
                             unsigned long long flags);
};

// What a GPU, its driver or its memory refuses.
class CudaError : public RankMemoryError {
 public:
  using RankMemoryError::RankMemoryError;
};

// Opens the driver's library and initialises it. Throws CudaError, saying what it would take.
CudaDriver open_cuda_driver(const std::string& library = "libcuda.so.1");

// "out of memory (CUDA_ERROR_OUT_OF_MEMORY, 2)"
std::string error_text(const CudaDriver& driver, CudaResult error);

// Throws CudaError("WHAT: error"), unless it is kCudaSuccess.
void check_cuda(const CudaDriver& driver, CudaResult result, const std::string& what);

}  // namespace gradhaul

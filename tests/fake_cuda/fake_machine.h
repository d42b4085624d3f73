#pragma once

// The GPUs of a fake libcuda.so.1, as the environment variable FAKE_CUDA lays them out when
// cuInit() is called: "devices=2 capability=8.0 memory=64 dmabuf=1 peers=0 ipc=0 kernel_error=3".
//
// Memory of a device lies in pages that the host sees twice: at the device's address, where nobody
// may read or write, so that who takes it for host memory is ended; and where the fake does.
//
// Work is queued by stream, and runs only as somebody asks for an event or waits for a stream, a
// piece of some stream at a time: so nothing is there before it was waited for.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "backends/cuda/cuda_driver.h"

namespace gradhaul::fake {

inline constexpr CudaResult kInvalidValue = 1;
inline constexpr CudaResult kInvalidContext = 201;
inline constexpr CudaResult kInvalidImage = 200;
inline constexpr CudaResult kInvalidHandle = 400;
inline constexpr CudaResult kNotFound = 500;
inline constexpr CudaResult kIllegalAddress = 700;
inline constexpr CudaResult kNotSupported = 801;
inline constexpr CudaResult kPeerAccessUnsupported = 217;
inline constexpr CudaResult kInvalidDevice = 101;

struct Layout {
  int devices = 1;
  int major = 9;
  int minor = 0;
  std::size_t memory = std::size_t{256} << 20;
  bool dma_buf = false;
  bool peers = true;
  bool ipc = true;       // memory can be opened by other processes
  int kernel_error = 0;  // the so-manyth launch runs into an illegal address; 0: none
};
Layout layout_of(const char* text);  // may be null

struct Allocation {
  std::byte* device = nullptr;
  std::byte* host = nullptr;
  std::size_t size = 0;
  int file = -1;
  int owner = 0;         // the device
  bool foreign = false;  // of another process
};

struct Stream {
  std::deque<std::function<void()>> work;
};

struct Event {
  bool recorded = false;
  bool come = false;
};

class Machine {
 public:
  static Machine& one();

  std::mutex mutex;
  Layout layout;
  std::map<CudaAddress, Allocation> memory;  // by address
  std::set<void*> pinned;
  std::set<Stream*> streams;
  std::set<Event*> events;
  std::size_t used = 0;
  int launches = 0;
  CudaResult sticky = kCudaSuccess;  // what asynchronous work ran into

  void start();  // anew, where nothing of before is left
  CudaResult allocate(CudaAddress* address, std::size_t bytes, int owner);
  CudaResult map(CudaAddress* address, int file, std::size_t bytes, int owner, bool foreign);
  CudaResult free(CudaAddress address, bool foreign);
  // Whether another process has it open: to give it back then ends this one.
  static bool is_open_elsewhere(const Allocation& allocation);
  // Where the fake reads and writes what lies at an address of a device or of the host; nullptr:
  // beyond what was allocated.
  std::byte* at(CudaAddress address, std::size_t bytes);
  const Allocation* allocation(CudaAddress address) const;

  // A piece of some stream.
  void let_time_pass();
  void finish(Stream& stream);
  void finish_all();
  std::size_t live_objects() const {
    return memory.size() + pinned.size() + streams.size() + events.size();
  }

 private:
  std::minstd_rand draws_;
};

}  // namespace gradhaul::fake

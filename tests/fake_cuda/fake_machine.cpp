#include "tests/fake_cuda/fake_machine.h"

#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace gradhaul::fake {

Layout layout_of(const char* text) {
  Layout layout;
  std::istringstream words(text == nullptr ? "" : text);
  std::string word;
  while (words >> word) {
    const std::size_t sign = word.find('=');
    const std::string key = word.substr(0, sign);
    const std::string value = sign == std::string::npos ? "" : word.substr(sign + 1);
    if (key == "devices") layout.devices = std::stoi(value);
    if (key == "capability") {
      layout.major = std::stoi(value);
      layout.minor = std::stoi(value.substr(value.find('.') + 1));
    }
    if (key == "memory") layout.memory = std::stoul(value) << 20;  // MiB
    if (key == "dmabuf") layout.dma_buf = value == "1";
    if (key == "peers") layout.peers = value == "1";
    if (key == "ipc") layout.ipc = value == "1";
    if (key == "kernel_error") layout.kernel_error = std::stoi(value);
  }
  return layout;
}

Machine& Machine::one() {
  static Machine machine;
  return machine;
}

void Machine::start() {
  layout = layout_of(std::getenv("FAKE_CUDA"));
  launches = 0;
  sticky = kCudaSuccess;
  draws_.seed(1);
}

CudaResult Machine::allocate(CudaAddress* address, std::size_t bytes, int owner) {
  if (bytes == 0) return kInvalidValue;
  if (used + bytes > layout.memory) return kCudaOutOfMemory;
  const int file = memfd_create("device memory", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) return kCudaOutOfMemory;
  used += bytes;
  return map(address, file, bytes, owner, false);
}

CudaResult Machine::map(CudaAddress* address, int file, std::size_t bytes, int owner,
                        bool foreign) {
  // At a multiple of 2 MiB, as the driver has larger allocations.
  constexpr std::size_t kGranularity = std::size_t{2} << 20;
  void* const room =
      mmap(nullptr, bytes + kGranularity, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const auto first = reinterpret_cast<std::uintptr_t>(room);
  const std::uintptr_t aligned = (first + kGranularity - 1) / kGranularity * kGranularity;
  if (aligned > first) munmap(room, aligned - first);
  munmap(reinterpret_cast<void*>(aligned + bytes), first + kGranularity - aligned);
  Allocation made;
  made.device = static_cast<std::byte*>(
      mmap(reinterpret_cast<void*>(aligned), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, file, 0));
  made.host =
      static_cast<std::byte*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  made.size = bytes;
  made.file = file;
  made.owner = owner;
  made.foreign = foreign;
  *address = reinterpret_cast<CudaAddress>(made.device);
  memory[*address] = made;
  return kCudaSuccess;
}

CudaResult Machine::free(CudaAddress address, bool foreign) {
  const auto found = memory.find(address);
  if (found == memory.end() || found->second.foreign != foreign) return kInvalidValue;
  finish_all();
  const Allocation& gone = found->second;
  if (!foreign && is_open_elsewhere(gone)) {
    std::fputs("fake libcuda: memory is given back that another process has open\n", stderr);
    std::abort();
  }
  if (!foreign) used -= gone.size;
  munmap(gone.device, gone.size);
  munmap(gone.host, gone.size);
  close(gone.file);
  memory.erase(found);
  return kCudaSuccess;
}

// Who opens it locks its file together with all others; nobody has it who can lock it alone.
bool Machine::is_open_elsewhere(const Allocation& allocation) {
  if (flock(allocation.file, LOCK_EX | LOCK_NB) != 0) return true;
  flock(allocation.file, LOCK_UN);
  return false;
}

const Allocation* Machine::allocation(CudaAddress address) const {
  auto after = memory.upper_bound(address);
  if (after == memory.begin()) return nullptr;
  const auto& [base, allocation] = *--after;
  return address - base < allocation.size ? &allocation : nullptr;
}

std::byte* Machine::at(CudaAddress address, std::size_t bytes) {
  const Allocation* of = allocation(address);
  if (of == nullptr) return reinterpret_cast<std::byte*>(address);
  const auto offset = address - reinterpret_cast<CudaAddress>(of->device);
  return bytes <= of->size - offset ? of->host + offset : nullptr;
}

void Machine::let_time_pass() {
  std::vector<Stream*> ready;
  for (Stream* stream : streams) {
    if (!stream->work.empty()) ready.push_back(stream);
  }
  if (ready.empty()) return;
  Stream& stream = *ready[draws_() % ready.size()];
  stream.work.front()();
  stream.work.pop_front();
}

void Machine::finish(Stream& stream) {
  while (!stream.work.empty()) {
    stream.work.front()();
    stream.work.pop_front();
  }
}

void Machine::finish_all() {
  for (Stream* stream : streams) finish(*stream);
}

}  // namespace gradhaul::fake

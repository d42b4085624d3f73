#pragma once

// Bandwidth of each GPU's memory, shared by kernels, NIC and peers: whole slices are booked in the
// order in which they come, which is fine enough for a resource that is rarely the narrow one.

#include <cstdint>
#include <vector>

#include "core/quantities.h"

namespace gradhaul {

class MemoryPorts {
 public:
  MemoryPorts(int gpus, BitRate bandwidth)
      : bandwidth_(bandwidth), ports_(static_cast<std::size_t>(gpus)) {}

  // Books `bytes` of reads or writes from `now` on; when they are done, if memory alone counts.
  std::int64_t book(int gpu, Bytes bytes, std::int64_t now) {
    Port& port = ports_[static_cast<std::size_t>(gpu)];
    port.bytes += bytes.count;
    if (bandwidth_.unlimited()) return now;
    if (port.free < now) {
      port.free = now;
      port.carry = {};
    }
    const Duration time = serialisation_time(bytes, bandwidth_, port.carry);
    port.busy += time.ps;
    port.free += time.ps;
    return port.free;
  }
  std::int64_t busy(int gpu) const { return ports_[static_cast<std::size_t>(gpu)].busy; }
  std::int64_t bytes(int gpu) const { return ports_[static_cast<std::size_t>(gpu)].bytes; }

 private:
  struct Port {
    std::int64_t free = 0;
    std::int64_t busy = 0;
    std::int64_t bytes = 0;
    SerialisationCarry carry;
  };
  BitRate bandwidth_;
  std::vector<Port> ports_;
};

}  // namespace gradhaul

#pragma once

// Bandwidth of each GPU's memory, shared by kernels, NIC and peers: whole slices are booked in the
// order in which they come, which is fine enough for a resource that is rarely the narrow one.

#include <cstdint>
#include <vector>

#include "core/quantities.h"
#include "core/repeated_growth.h"
#include "sim/state_words.h"

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
  // What decides about the future.
  void append_state(StateWords& words) const {
    for (const Port& port : ports_) {
      words.add_due(port.free);
      if (port.free > words.now()) words.add(port.carry.remainder);
    }
  }
  // Adds what has been added to each port since then so many times more.
  void repeat(const MemoryPorts& since, std::int64_t times) {
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      grow_again(ports_[i].busy, since.ports_[i].busy, times);
      grow_again(ports_[i].bytes, since.ports_[i].bytes, times);
    }
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

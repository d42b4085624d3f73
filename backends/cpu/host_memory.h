#pragma once

// What Region means to the backends that hold real host memory: three ranges of bytes that somebody
// else owns. Input and output are the same range when a collective runs in place. No alignment is
// assumed of anything: a slot size need not be a multiple of the element's.

#include <cstddef>
#include <span>

#include "core/memory.h"
#include "core/quantities.h"

namespace gradhaul {

struct HostMemory {
  std::span<std::byte> input;
  std::span<std::byte> output;
  std::span<std::byte> slots;
  // The file whose pages the slots are, from its beginning, where other processes may have them;
  // -1: they are this one's alone.
  int slots_file = -1;
};

std::span<std::byte> region_of(const HostMemory& memory, Region region);

// The bytes of `where`; that they lie within their region is asserted.
std::span<std::byte> bytes_at(const HostMemory& memory, BufferRef where, Bytes length);

}  // namespace gradhaul

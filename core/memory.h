#pragma once

// Where bytes are, as the core speaks of it: a region and an offset, never a pointer. A transport
// knows what a region is (host memory, GPU memory, or nothing at all in the simulator).

#include <cstdint>

#include "core/quantities.h"

namespace gradhaul {

enum class Region : std::uint8_t {
  kInput,   // the rank's own contribution; the same memory as kOutput when run in place
  kOutput,  // the result, and partial results on the way to it
  kSlots,   // receive slots of all connections of this rank that receive
};

struct BufferRef {
  Region region = Region::kInput;
  Bytes offset;
};

}  // namespace gradhaul

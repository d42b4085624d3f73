#include "backends/cpu/host_memory.h"

#include "core/assert.h"

namespace gradhaul {

std::span<std::byte> region_of(const HostMemory& memory, Region region) {
  switch (region) {
    case Region::kInput:
      return memory.input;
    case Region::kOutput:
      return memory.output;
    case Region::kSlots:
      return memory.slots;
  }
  assertion_failed("region is one of Region", __FILE__, __LINE__, "no such region");
}

std::span<std::byte> bytes_at(const HostMemory& memory, BufferRef where, Bytes length) {
  const std::span<std::byte> region = region_of(memory, where.region);
  const auto size = static_cast<std::int64_t>(region.size());
  GRADHAUL_ASSERT(where.offset.count >= 0 && length.count >= 0, "offsets and lengths count bytes");
  GRADHAUL_ASSERT(length.count <= size && where.offset.count <= size - length.count,
                  "a buffer lies within its region");
  return region.subspan(static_cast<std::size_t>(where.offset.count),
                        static_cast<std::size_t>(length.count));
}

}  // namespace gradhaul

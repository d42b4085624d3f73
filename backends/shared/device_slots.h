#pragma once

// Receive slots in memory of a device, which a process tells the others of its host, so that they
// have the device copy into them.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/loopback/slot_copier.h"
#include "core/quantities.h"

namespace gradhaul {

class DeviceSlots {
 public:
  struct Offer {
    std::vector<std::byte> handle;  // by which another process opens them
    // They are given back only after nobody has them open any more, which whoever holds this sees
    // to.
    std::shared_ptr<const void> kept;
    std::string problem;  // why there is no handle
  };
  struct Opened {
    std::span<std::byte> slots;        // addresses for the copier
    std::shared_ptr<const void> open;  // closed with the last of them
    std::string problem;               // why they can't be had
  };
  virtual ~DeviceSlots() = default;

  // This rank's own, as they are now.
  virtual Offer offer() = 0;
  // Those of another process, of so many bytes, by its handle.
  virtual Opened open(std::span<const std::byte> handle, Bytes size) = 0;
  // Who copies into them, for so many connections. Throws RankMemoryError.
  virtual std::unique_ptr<SlotCopier> copier(std::size_t connections) = 0;
  // What copies go by, for the result.
  virtual std::string path() const = 0;
};

}  // namespace gradhaul

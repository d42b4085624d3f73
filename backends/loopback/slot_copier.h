#pragma once

// Who copies a sender's bytes into a slot that it sees, where that is not done by the CPU at once:
// a GPU's copy engines, say. Copies of one connection are completed in the order in which they were
// begun.

#include <cstddef>
#include <span>

#include "core/completion.h"

namespace gradhaul {

class SlotCopier {
 public:
  virtual ~SlotCopier() = default;
  // Begins one; the source stays as it is until it is completed.
  virtual void copy(ConnectionId connection, std::byte* to, std::span<const std::byte> from) = 0;
  // How many of a connection's are completed that no call before has told of. Never blocks.
  virtual int take_completed(ConnectionId connection) = 0;
};

}  // namespace gradhaul

#pragma once

// Where a rank's data lies while it is measured, and who adds it up: host memory with a CPU, or a
// GPU's with its kernels. The driver reads and writes it through this alone.

#include <cstddef>
#include <span>

#include "backends/cpu/host_memory.h"
#include "core/completion.h"
#include "core/memory.h"
#include "core/reducer.h"

namespace gradhaul {

struct RankMemorySizes {
  Bytes input;  // in place: the beginning of the output
  Bytes output;
  Bytes slots;
  bool in_place = false;
};

class RankMemory {
 public:
  virtual ~RankMemory() = default;

  // Makes room for a collective; what was there before is gone. Throws std::bad_alloc.
  virtual void prepare(const RankMemorySizes& sizes) = 0;
  // Addresses for a transport, valid until the next prepare().
  virtual HostMemory regions() const = 0;

  virtual Reducer& reducer() = 0;
  // Delivers what the reducer has completed; whether there was anything. Never blocks.
  virtual bool poll(CompletionSink& sink) = 0;

  // Copies to and from host memory.
  virtual void write(BufferRef to, std::span<const std::byte> bytes) = 0;
  virtual void read(BufferRef from, std::span<std::byte> bytes) = 0;
};

}  // namespace gradhaul

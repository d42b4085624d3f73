#pragma once

// Where a rank's data lies while it is measured, and who adds it up: host memory with a CPU, or a
// GPU's with its kernels. The driver reads and writes it through this alone.

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

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

// What a rank's memory, or what works on it, refuses: there is no GPU, no room, a kernel failed.
class RankMemoryError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Any of its calls may throw RankMemoryError.
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
  // Whether something is under way whose end wakes nobody: poll() has to look for it.
  virtual bool busy() const { return false; }

  // Copies to and from host memory.
  virtual void write(BufferRef to, std::span<const std::byte> bytes) = 0;
  virtual void read(BufferRef from, std::span<std::byte> bytes) = 0;

  // Whether a GPU has the data.
  virtual bool on_gpu() const { return false; }

  // For the `engine` of a measured result, in the place of a transport's of the same name. After a
  // prepare().
  virtual std::vector<std::pair<std::string, std::string>> facts() const { return {}; }
};

// What a transport says of itself, and then memory.
using RunFacts = std::vector<std::pair<std::string, std::string>>;
RunFacts joined_facts(RunFacts of_transport, const RunFacts& of_memory);

}  // namespace gradhaul

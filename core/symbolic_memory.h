#pragma once

// A rank's memory without data: each element says whose contributions it holds, and of which
// element of the message. Keeps watch over who may touch it: a source is not overwritten while a
// write reads it, a receive slot is not written to before it is free, nothing is read before it is
// there.

#include <cstdint>
#include <string>
#include <vector>

#include "core/memory.h"
#include "core/message_plan.h"
#include "core/reducer.h"

namespace gradhaul::oracle {

// What the rules were broken by, in words; only the first few are kept.
class Violations {
 public:
  void add(const std::string& what);
  bool empty() const { return count_ == 0; }
  std::int64_t count() const { return count_; }
  const std::vector<std::string>& first() const { return first_; }

 private:
  std::int64_t count_ = 0;
  std::vector<std::string> first_;
};

// The value of an element: the sum of what `ranks` contributed to `element` of the message.
struct Symbol {
  std::uint64_t ranks = 0;  // a bit for each; none: undefined
  std::int64_t element = -1;
  bool divided = false;  // by the number of ranks, for avg
  friend bool operator==(const Symbol&, const Symbol&) = default;
};
std::string text_of(const Symbol& symbol);

class SymbolicMemory {
 public:
  struct Shape {
    int rank = 0;
    int ranks = 0;
    std::int64_t count = 0;    // elements of input and output each
    std::int64_t scratch = 0;  // and behind the output
    bool in_place = false;
    Bytes element{4};
    Bytes slot_size;
    Bytes slots_bytes;
  };
  SymbolicMemory(const Shape& shape, Violations& violations);

  const Symbol& output(std::int64_t element) const { return output_[index(element)].symbol; }

  // A write reads its source from its post until it is done.
  std::vector<Symbol> begin_write(BufferRef source, std::int64_t count);
  void end_write(BufferRef source, std::int64_t count);
  // A write may land in its slot from its post on; what it brings can be read once it has arrived.
  void begin_landing(std::int64_t slot, const std::vector<Symbol>& symbols);
  void end_landing(std::int64_t slot);
  // An operation reads and writes from its post until it is done; those of a stream in order.
  void begin_operation(const ReduceRequest& request);
  void end_operation(const ReduceRequest& request);
  // The slot a reference into Region::kSlots lies in.
  std::int64_t slot_of(BufferRef reference) const;

  // Nobody is reading or writing.
  void check_idle();
  std::uint64_t fingerprint() const;

 private:
  struct Element {
    Symbol symbol;
    std::int32_t reading_writes = 0;
    std::int32_t writing_operations = 0;
    std::int32_t stream = -1;  // of the operations that write it now
  };
  enum class SlotState : std::uint8_t { kFree, kLanding, kFull, kRead };

  static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
  std::vector<Element>& data(Region region);
  bool in_range(BufferRef reference, std::int64_t count);
  Symbol read(BufferRef reference, std::int64_t i);
  Symbol add(const Symbol& left, const Symbol& right);
  void begin_slot_read(BufferRef reference);
  void violation(const std::string& what);

  Shape shape_;
  Violations& violations_;
  std::vector<Element> input_;  // empty when in place
  std::vector<Element> output_;
  std::vector<Symbol> slots_;
  std::vector<SlotState> slot_states_;
};

}  // namespace gradhaul::oracle

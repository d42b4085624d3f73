#include "core/symbolic_memory.h"

#include "core/assert.h"

namespace gradhaul::oracle {
namespace {

constexpr std::size_t kKeptViolations = 8;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15U + (hash << 6) + (hash >> 2);
  hash *= 0xbf58476d1ce4e5b9U;
  return hash ^ hash >> 31;
}

}  // namespace

void Violations::add(const std::string& what) {
  ++count_;
  if (first_.size() < kKeptViolations) first_.push_back(what);
}

std::string text_of(const Symbol& symbol) {
  if (symbol.ranks == 0) return "undefined";
  std::string text = "element " + std::to_string(symbol.element) + " of ranks";
  for (int r = 0; r < 64; ++r) {
    if ((symbol.ranks >> r & 1U) != 0) text += ' ' + std::to_string(r);
  }
  return text + (symbol.divided ? ", divided" : "");
}

SymbolicMemory::SymbolicMemory(const Shape& shape, Violations& violations)
    : shape_(shape), violations_(violations) {
  GRADHAUL_ASSERT(shape.ranks <= 64, "a symbol has a bit for each rank");
  output_.resize(index(shape.count + shape.scratch));
  if (!shape.in_place) input_.resize(index(shape.count));
  std::vector<Element>& contribution = data(Region::kInput);
  for (std::int64_t i = 0; i < shape.count; ++i) {
    contribution[index(i)].symbol = {std::uint64_t{1} << shape.rank, i, false};
  }
  const std::int64_t slots = shape.slots_bytes.count / shape.slot_size.count;
  slots_.resize(index(shape.slots_bytes.count / shape.element.count));
  slot_states_.resize(index(slots), SlotState::kFree);
}

std::vector<SymbolicMemory::Element>& SymbolicMemory::data(Region region) {
  return region == Region::kInput && !shape_.in_place ? input_ : output_;
}

std::int64_t SymbolicMemory::slot_of(BufferRef reference) const {
  return reference.offset.count / shape_.slot_size.count;
}

void SymbolicMemory::violation(const std::string& what) {
  violations_.add("rank " + std::to_string(shape_.rank) + ": " + what);
}

bool SymbolicMemory::in_range(BufferRef reference, std::int64_t count) {
  const std::int64_t first = reference.offset.count / shape_.element.count;
  const std::size_t size =
      reference.region == Region::kSlots ? slots_.size() : data(reference.region).size();
  if (reference.offset.count % shape_.element.count == 0 && first >= 0 && count >= 1 &&
      index(first + count) <= size) {
    return true;
  }
  violation("a reference outside of its region");
  return false;
}

Symbol SymbolicMemory::read(BufferRef reference, std::int64_t i) {
  const std::size_t at = index(reference.offset.count / shape_.element.count + i);
  const Symbol symbol =
      reference.region == Region::kSlots ? slots_[at] : data(reference.region)[at].symbol;
  if (symbol.ranks == 0) violation("something undefined is read");
  return symbol;
}

std::vector<Symbol> SymbolicMemory::begin_write(BufferRef source, std::int64_t count) {
  std::vector<Symbol> symbols;
  if (source.region == Region::kSlots) violation("a write from a receive slot");
  if (source.region == Region::kSlots || !in_range(source, count)) return symbols;
  for (std::int64_t i = 0; i < count; ++i) {
    symbols.push_back(read(source, i));
    Element& element = data(source.region)[index(source.offset.count / shape_.element.count + i)];
    if (element.writing_operations > 0) violation("a write reads what is being reduced");
    ++element.reading_writes;
  }
  return symbols;
}

void SymbolicMemory::end_write(BufferRef source, std::int64_t count) {
  if (source.region == Region::kSlots || !in_range(source, count)) return;
  for (std::int64_t i = 0; i < count; ++i) {
    --data(source.region)[index(source.offset.count / shape_.element.count + i)].reading_writes;
  }
}

void SymbolicMemory::begin_landing(std::int64_t slot, const std::vector<Symbol>& symbols) {
  SlotState& state = slot_states_[index(slot)];
  if (state != SlotState::kFree) violation("a write into a slot that is not free");
  state = SlotState::kLanding;
  const std::int64_t elements = shape_.slot_size.count / shape_.element.count;
  for (std::int64_t i = 0; i < elements; ++i) {
    const bool written = index(i) < symbols.size();
    slots_[index(slot * elements + i)] = written ? symbols[index(i)] : Symbol{};
  }
}

void SymbolicMemory::end_landing(std::int64_t slot) {
  slot_states_[index(slot)] = SlotState::kFull;
}

void SymbolicMemory::begin_slot_read(BufferRef reference) {
  SlotState& state = slot_states_[index(slot_of(reference))];
  if (state != SlotState::kFull) violation("a slot is read before its write has arrived");
  state = SlotState::kRead;
}

Symbol SymbolicMemory::add(const Symbol& left, const Symbol& right) {
  if (left.element != right.element) violation("different elements are added");
  if ((left.ranks & right.ranks) != 0) violation("a contribution is added twice");
  if (left.divided || right.divided) violation("something is added after the division");
  return {left.ranks | right.ranks, left.element, false};
}

void SymbolicMemory::begin_operation(const ReduceRequest& request) {
  if (request.target.region != Region::kOutput) violation("a result outside of the output");
  const bool reduces = request.kind == ReduceKind::kReduce;
  if (!in_range(request.target, request.count) || !in_range(request.left, request.count) ||
      (reduces && !in_range(request.right, request.count))) {
    return;
  }
  if (request.divisor != 1 &&
      (request.reduction != Reduction::kAvg || request.divisor != shape_.ranks || !reduces)) {
    violation("a wrong divisor");
  }
  if (request.left.region == Region::kSlots) begin_slot_read(request.left);
  if (reduces && request.right.region == Region::kSlots) begin_slot_read(request.right);
  const std::int64_t first = request.target.offset.count / shape_.element.count;
  for (std::int64_t i = 0; i < request.count; ++i) {
    Element& target = output_[index(first + i)];
    if (target.reading_writes > 0) violation("a source is overwritten while a write reads it");
    if (target.writing_operations > 0 && target.stream != request.stream) {
      violation("two streams write the same element");
    }
    target.stream = request.stream;
    Symbol result = read(request.left, i);
    if (reduces) result = add(result, read(request.right, i));
    if (request.divisor > 1) result.divided = true;
    target.symbol = result;
    ++target.writing_operations;
  }
}

void SymbolicMemory::end_operation(const ReduceRequest& request) {
  const std::int64_t first = request.target.offset.count / shape_.element.count;
  for (std::int64_t i = 0; i < request.count; ++i) --output_[index(first + i)].writing_operations;
  for (const BufferRef& operand : {request.left, request.right}) {
    if (operand.region == Region::kSlots) {
      slot_states_[index(slot_of(operand))] = SlotState::kFree;
    }
  }
}

void SymbolicMemory::check_idle() {
  for (const std::vector<Element>* elements : {&input_, &output_}) {
    for (const Element& element : *elements) {
      if (element.reading_writes != 0 || element.writing_operations != 0) {
        violation("finished while something is read or written");
        return;
      }
    }
  }
  for (const SlotState state : slot_states_) {
    if (state != SlotState::kFree) violation("finished with a slot in use");
  }
}

std::uint64_t SymbolicMemory::fingerprint() const {
  std::uint64_t hash = 0;
  for (const std::vector<Element>* elements : {&input_, &output_}) {
    for (const Element& element : *elements) {
      hash = mixed(hash, element.symbol.ranks + (element.symbol.divided ? 1U << 31 : 0U));
      hash = mixed(hash, static_cast<std::uint64_t>(element.reading_writes));
      hash = mixed(hash, static_cast<std::uint64_t>(element.writing_operations));
    }
  }
  for (const Symbol& symbol : slots_) hash = mixed(hash, symbol.ranks);
  for (const SlotState state : slot_states_) hash = mixed(hash, static_cast<std::uint64_t>(state));
  return hash;
}

}  // namespace gradhaul::oracle

#pragma once

// A rank's data in host memory, added up by the CPU.

#include <cstdint>
#include <optional>

#include "backends/cpu/cpu_reducer.h"
#include "backends/measure/rank_memory.h"
#include "backends/shared/shared_pages.h"

namespace gradhaul {

// Anonymous pages, zero until they are touched: slots that are never used cost nothing.
class HostPages {
 public:
  HostPages() = default;
  explicit HostPages(Bytes size);  // throws std::bad_alloc
  ~HostPages();
  HostPages(HostPages&& other) noexcept;
  HostPages& operator=(HostPages&& other) noexcept;
  std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

// Who may write into a rank's receive slots.
enum class SlotAccess : std::uint8_t {
  kThisProcess,  // and devices
  kThisHost,     // other processes, too, which HostMemory::slots_file lets have them
};

class HostRankMemory final : public RankMemory {
 public:
  explicit HostRankMemory(SlotAccess slots = SlotAccess::kThisProcess) : slot_access_(slots) {}
  void prepare(const RankMemorySizes& sizes) override;
  HostMemory regions() const override { return regions_; }
  Reducer& reducer() override { return *reducer_; }
  bool poll(CompletionSink& sink) override { return reducer_->complete_one_of_each(sink); }
  void write(BufferRef to, std::span<const std::byte> bytes) override;
  void read(BufferRef from, std::span<std::byte> bytes) override;
  RunFacts facts() const override { return {{"memory", "host"}}; }

 private:
  HostPages input_;
  HostPages output_;
  SlotAccess slot_access_;
  HostPages slots_;
  SharedPages shared_slots_;
  HostMemory regions_;
  std::optional<CpuReducer> reducer_;
};

}  // namespace gradhaul

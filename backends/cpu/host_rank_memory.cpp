#include "backends/cpu/host_rank_memory.h"

#include <sys/mman.h>

#include <cstring>
#include <new>
#include <utility>

#include "core/assert.h"

namespace gradhaul {

HostPages::HostPages(Bytes size) {
  if (size.count == 0) return;
  void* const pages = mmap(nullptr, static_cast<std::size_t>(size.count), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  bytes_ = {static_cast<std::byte*>(pages), static_cast<std::size_t>(size.count)};
  // Fewer misses of the TLB where the system has large pages to give; no matter where not.
  madvise(pages, bytes_.size(), MADV_HUGEPAGE);
}

HostPages::~HostPages() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

HostPages::HostPages(HostPages&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

HostPages& HostPages::operator=(HostPages&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

void HostRankMemory::prepare(const RankMemorySizes& sizes) {
  GRADHAUL_ASSERT(!sizes.in_place || sizes.input <= sizes.output,
                  "in place, the input is the beginning of the output");
  reducer_.reset();
  input_ = HostPages();
  output_ = HostPages();
  slots_ = HostPages();
  shared_slots_ = SharedPages();
  output_ = HostPages(sizes.output);
  const bool shared = slot_access_ == SlotAccess::kThisHost;
  if (shared) {
    shared_slots_ = SharedPages(sizes.slots);
  } else {
    slots_ = HostPages(sizes.slots);
  }
  if (!sizes.in_place) input_ = HostPages(sizes.input);
  regions_ = {sizes.in_place ? output_.bytes() : input_.bytes(), output_.bytes(),
              shared ? shared_slots_.bytes() : slots_.bytes(), shared_slots_.file()};
  reducer_.emplace(regions_);
}

void HostRankMemory::write(BufferRef to, std::span<const std::byte> bytes) {
  const Bytes length{static_cast<std::int64_t>(bytes.size())};
  std::memcpy(bytes_at(regions_, to, length).data(), bytes.data(), bytes.size());
}

void HostRankMemory::read(BufferRef from, std::span<std::byte> bytes) {
  const Bytes length{static_cast<std::int64_t>(bytes.size())};
  std::memcpy(bytes.data(), bytes_at(regions_, from, length).data(), bytes.size());
}

}  // namespace gradhaul

#pragma once

// What it takes to register memory with a NIC, so that it may read and write it: a call, and each
// page pinned and written into the NIC's tables. A thread of the host is busy with it all along.

#include <cstdint>

#include "core/quantities.h"

namespace gradhaul {

// When a message's memory is registered.
enum class Registering : std::uint8_t {
  kOnce,         // before the first collective, by whoever owns it
  kPerTransfer,  // before each collective's first post, and taken back when the rank is through
  // By the first collective; those after it look it up (NCCL's and UCX's registration caches).
  // Predicted is one of those: all is there.
  kCached,
};

struct RegistrationCosts {
  Bytes page;         // a power of two
  Duration base;      // of each registration, however small
  Duration per_page;  // pinning it, and the NIC's entry for it
  // What taking it back takes, as a share of what it took: an estimate, 0.3 to 0.6.
  double deregistration = 0.45;
  // Looking it up in a cache, whatever its size: 50 to 360 ns [UCX, overhead of its registration
  // cache, src/uct/ib].
  Duration hit{200'000};
  friend bool operator==(const RegistrationCosts&, const RegistrationCosts&) = default;
};

// Host memory: 16 us, and 0.06 ns a byte of 4 KiB pages, which is 245 ns each [UCX, registration
// cost of its InfiniBand memory domain, src/uct/ib]. Larger pages are thought to take 300 to 500 ns
// each, of which there are then so many fewer.
inline constexpr RegistrationCosts kHostRegistration{Bytes{4096}, Duration{16'000'000},
                                                     Duration{245'000}};
// GPU memory, by nvidia-peermem or DMA-BUF, in the GPU's pages of 64 KiB: estimates, 60 to 200 us
// and 0.5 to 1 us a page.
inline constexpr RegistrationCosts kGpuRegistration{Bytes{64 * 1024}, Duration{130'000'000},
                                                    Duration{750'000}};

constexpr Duration registration_time(const RegistrationCosts& costs, Bytes size) {
  const std::int64_t pages = (size.count + costs.page.count - 1) / costs.page.count;
  return costs.base + costs.per_page * pages;
}

constexpr Duration deregistration_time(const RegistrationCosts& costs, Bytes size) {
  const auto registering = static_cast<double>(registration_time(costs, size).ps);
  return {static_cast<std::int64_t>(registering * costs.deregistration + 0.5)};
}

}  // namespace gradhaul

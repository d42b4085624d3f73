#pragma once

// Profiles `nccl-2.22` and `nccl-2.30`: a plan as NCCL would have it. Its tuner chooses algorithm,
// protocol and channels for each size; a ring's Simple chunk is four of its eight buffer steps of
// 512 KiB, of which two at a time go on the wire: four slots of 1 MiB (src/include/collectives.h,
// NCCL_STEPS). LL and LL128 send single steps (core/protocol.h).

#include <string_view>

#include "core/nccl_tuner.h"
#include "core/protocol.h"

namespace gradhaul {

constexpr bool is_nccl_profile(std::string_view profile) { return profile.starts_with("nccl-"); }

constexpr int nccl_slots(Protocol protocol) { return protocol == Protocol::kSimple ? 4 : 8; }
constexpr Bytes nccl_slot_size(Protocol protocol) {
  return protocol == Protocol::kSimple ? Bytes{1024 * 1024} : usual_slot_size(protocol);
}

// Whether what NCCL estimates is what `asked` leaves to choose, and is modelled here.
bool is_plan_for(const NcclEstimate& estimate, const Communication& asked);

// `asked` with what NCCL chose; channels, slots and slot size that were asked for stay. Requires
// is_plan_for().
Communication nccl_plan(const Communication& asked, const NcclEstimate& estimate);

}  // namespace gradhaul

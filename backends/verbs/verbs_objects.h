#pragma once

// What libibverbs hands out, each with its end: destroyed by the library that made it, at the
// latest with its owner. What hangs on another (a queue pair on its completion queue and protection
// domain) is declared after it.

#include <memory>

#include "backends/verbs/verbs_library.h"

namespace gradhaul {

template <typename T, int (VerbsLibrary::*kDestroy)(T*)>
struct VerbsDeleter {
  VerbsLibrary* verbs = nullptr;
  void operator()(T* object) const { (verbs->*kDestroy)(object); }
};

template <typename T, int (VerbsLibrary::*kDestroy)(T*)>
using VerbsObject = std::unique_ptr<T, VerbsDeleter<T, kDestroy>>;

using DeviceContext = VerbsObject<ibv_context, &VerbsLibrary::close_device>;
using ProtectionDomain = VerbsObject<ibv_pd, &VerbsLibrary::dealloc_pd>;
using MemoryRegion = VerbsObject<ibv_mr, &VerbsLibrary::dereg_mr>;
using AddressHandle = VerbsObject<ibv_ah, &VerbsLibrary::destroy_ah>;
using CompletionChannel = VerbsObject<ibv_comp_channel, &VerbsLibrary::destroy_comp_channel>;
using CompletionQueue = VerbsObject<ibv_cq, &VerbsLibrary::destroy_cq>;
using QueuePair = VerbsObject<ibv_qp, &VerbsLibrary::destroy_qp>;

}  // namespace gradhaul

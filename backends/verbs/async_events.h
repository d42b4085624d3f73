#pragma once

// Asynchronous events [rdma-core, ibv_get_async_event(3)]: whom each concerns, and what it means
// here. Those of queue pairs and devices are failures; those of ports are kept, and told with a
// failure that follows, since retries may outlast them.

#include <cstdint>
#include <string_view>

#include "backends/verbs/verbs_library.h"

namespace gradhaul {

enum class EventConcerns : std::uint8_t { kNobody, kQueuePair, kDevice, kPort };

struct AsyncEventMeaning {
  ibv_event_type type = IBV_EVENT_DEVICE_FATAL;
  EventConcerns concerns = EventConcerns::kNobody;
  std::string_view name;
  std::string_view meaning;
};

AsyncEventMeaning meaning_of(ibv_event_type type);

}  // namespace gradhaul

#pragma once

// What a run whose queue pair has tried as often as it may says of that.

#include <string>

#include "core/collective_engine.h"
#include "sim/packet_transport.h"

namespace gradhaul {

// `engine`: of the rank that sends; null: it is none of a collective.
std::string retry_failure(const RetriesExceeded& gave_up, const Fabric& fabric,
                          const Schedule* schedule, const CollectiveEngine* engine);

// The rank that sends.
inline Rank sender_of(const RetriesExceeded& gave_up) {
  return gave_up.credit ? gave_up.connection.destination : gave_up.connection.source;
}

}  // namespace gradhaul

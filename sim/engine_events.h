#pragma once

// The plain engine's own kinds of events; those of Endpoints follow.

#include <cstdint>

#include "sim/event_wheel.h"

namespace gradhaul {

enum class EngineEvent : std::uint32_t {
  kArrival,  // of a packet at its link
  kWake,     // of a link
  kLook,     // at a lossless buffer
  kPause,    // of a link, to be heeded
  kResume,
  kStormBegins,  // of a link's receiver, which then pauses it all the time
  kStormEnds,
  kFirstOfEndpoints,
};

inline constexpr auto kFirstEndpointEvent =
    static_cast<std::uint32_t>(EngineEvent::kFirstOfEndpoints);

constexpr int kIndexBits = 27;

constexpr std::uint32_t event_what(std::uint32_t kind, std::int32_t index) {
  return kind << kIndexBits | static_cast<std::uint32_t>(index);
}
constexpr std::uint32_t event_what(EngineEvent kind, std::int32_t index) {
  return event_what(static_cast<std::uint32_t>(kind), index);
}
constexpr std::uint32_t kind_of(const Event& event) { return event.what >> kIndexBits; }
constexpr std::int32_t index_of(const Event& event) {
  return static_cast<std::int32_t>(event.what & ((std::uint32_t{1} << kIndexBits) - 1));
}

}  // namespace gradhaul

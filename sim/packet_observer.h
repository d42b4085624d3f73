#pragma once

// What the packet engine tells of its links to whoever looks on.

#include <cstdint>

#include "sim/packet.h"

namespace gradhaul {

// A packet, or a piece cut off its front, begins on a link.
struct PacketStart {
  LinkId link = kNoLink;
  const Packet& packet;
  std::int64_t wire = 0;  // bytes
  std::int64_t start = 0;
  std::int64_t serialisation = 0;
  bool queued = false;  // on_arrival() has told of it
};

class PacketObserver {
 public:
  // It waits before the link from now on.
  virtual void on_arrival(LinkId link, std::int64_t wire, std::int64_t now) = 0;
  virtual void on_start(const PacketStart& start) = 0;
  // The link had a packet ready and could not start it.
  virtual void on_stall(LinkId link, std::int64_t since, std::int64_t until) = 0;
  // The receiver at the far end of `link` sends a pause frame by `way` from `start` on.
  virtual void on_pause_frame(LinkId link, LinkId way, bool pause, std::int64_t now,
                              std::int64_t start, std::int64_t serialisation) = 0;
  // The transmitter heeds one.
  virtual void on_pause(LinkId link, bool paused, std::int64_t now) = 0;

 protected:
  ~PacketObserver() = default;
};

}  // namespace gradhaul

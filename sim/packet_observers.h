#pragma once

// Several that look on at one engine; each knows which links concern it.

#include <vector>

#include "sim/packet_observer.h"

namespace gradhaul {

class PacketObservers final : public PacketObserver {
 public:
  void add(PacketObserver& observer) { all_.push_back(&observer); }

  void on_arrival(LinkId link, std::int64_t wire, std::int64_t now) override {
    for (PacketObserver* observer : all_) observer->on_arrival(link, wire, now);
  }
  void on_start(const PacketStart& start) override {
    for (PacketObserver* observer : all_) observer->on_start(start);
  }
  void on_stall(LinkId link, std::int64_t since, std::int64_t until) override {
    for (PacketObserver* observer : all_) observer->on_stall(link, since, until);
  }
  void on_pause_frame(LinkId link, LinkId way, bool pause, std::int64_t now, std::int64_t start,
                      std::int64_t serialisation) override {
    for (PacketObserver* observer : all_) {
      observer->on_pause_frame(link, way, pause, now, start, serialisation);
    }
  }
  void on_pause(LinkId link, bool paused, std::int64_t now) override {
    for (PacketObserver* observer : all_) observer->on_pause(link, paused, now);
  }

 private:
  std::vector<PacketObserver*> all_;
};

}  // namespace gradhaul

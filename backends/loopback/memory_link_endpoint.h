#pragma once

// A rank's end of connections whose ends see the same memory (memory_link.h): a write is a copy
// into the peer's slot, by the sender; by the CPU, or by who copies for it (slot_copier.h), where
// memory is a device's.

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/host_memory.h"
#include "backends/endpoint.h"
#include "backends/loopback/memory_link.h"
#include "backends/loopback/slot_copier.h"
#include "backends/loopback/waker.h"
#include "core/connection.h"

namespace gradhaul {

// What a connection's two ends have in common, as this rank sees it.
struct MemoryJoint {
  ConnectionEnd end;
  MemoryLink link;
  std::byte* slots = nullptr;  // of the receiver
  Waker* peer = nullptr;       // nullptr: the peer does not sleep
};

class MemoryLinkEndpoint final : public Endpoint {
 public:
  // All memory outlives it. `path`: how its facts call what it writes through. Waits for `own` to
  // be woken, or gives the core away and returns where there is none. No copier: the CPU copies.
  MemoryLinkEndpoint(const std::vector<MemoryJoint>& joints, const HostMemory& memory,
                     Bytes slot_size, std::string path, Waker* own = nullptr,
                     std::unique_ptr<SlotCopier> copier = nullptr);

  TransportLimits limits() const override { return {}; }
  // The copy, once it is completed, is the write; its completions wait for poll().
  void post_write(const WriteRequest& request) override;
  void flush() override;
  bool poll(CompletionSink& sink) override;
  void wait(std::chrono::microseconds most) override;
  std::optional<RankFailure> failure() const override { return std::nullopt; }
  std::vector<std::pair<std::string, std::string>> facts() const override {
    return {{"path", path_}};
  }

 private:
  struct Wired {
    MemoryJoint joint;
    // Data at the sending end, credits at the receiving one: done <= sent <= posted.
    std::int64_t posted = 0;
    std::int64_t sent = 0;
    std::int64_t done = 0;
    std::int64_t seen = 0;             // of the peer's
    std::deque<std::int64_t> lengths;  // of writes whose kWriteDone is due
    std::deque<std::int64_t> copying;  // lengths of writes that are being copied
  };
  void send(const WriteRequest& request);
  static void publish(Wired& wired, std::int64_t length);
  void publish_copied();
  static void wake(const Wired& wired);
  static bool deliver(Wired& wired, ConnectionId id, CompletionSink& sink);

  std::vector<Wired> connections_;
  std::unique_ptr<SlotCopier> copier_;
  int copying_ = 0;  // writes of all connections
  HostMemory memory_;
  Bytes slot_size_;
  std::string path_;
  Waker* own_;
  std::uint32_t seen_ = 0;
  std::vector<WriteRequest> staged_;
};

}  // namespace gradhaul

#pragma once

// Ranks as threads of one process: a write is a copy into the peer's slot, by the sender. What is
// measured so is what memory and cores (or a GPU's copies) give, and what the collective itself
// costs.

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "backends/loopback/memory_link.h"
#include "backends/loopback/slot_copier.h"
#include "backends/loopback/waker.h"
#include "backends/measure/endpoint_maker.h"

namespace gradhaul {

// Where the threads find each other's links and slots; outlives their makers.
class MemoryMeetingPlace {
 public:
  struct Joint {
    struct alignas(kCacheLine) Line {
      std::byte bytes[kCacheLine] = {};
    };
    std::unique_ptr<Line[]> link;  // the memory of a MemoryLink
    std::byte* slots = nullptr;    // of the receiver
  };
  // Whoever comes first makes the link.
  Joint& joint(const ConnectionKey& key, int slots);
  Waker& waker(Rank rank);
  void clear();

 private:
  std::mutex mutex_;
  std::map<ConnectionKey, Joint> joints_;
  std::map<Rank, Waker> wakers_;
};

class MemoryEndpointMaker final : public EndpointMaker {
 public:
  // Makes who copies for an endpoint of so many connections.
  using CopierMaker = std::function<std::unique_ptr<SlotCopier>(std::size_t connections)>;

  MemoryEndpointMaker(MemoryMeetingPlace& place, Exchange& exchange)
      : place_(place), exchange_(exchange) {}
  // Where it is not the CPU that copies.
  MemoryEndpointMaker(MemoryMeetingPlace& place, Exchange& exchange, CopierMaker make_copier)
      : place_(place), exchange_(exchange), make_copier_(std::move(make_copier)) {}
  std::unique_ptr<Endpoint> make(const EndpointRequest& request) override;

 private:
  MemoryMeetingPlace& place_;
  Exchange& exchange_;
  CopierMaker make_copier_;
};

}  // namespace gradhaul

#pragma once

// Joins ranks of one node by memory that both see, and all others by the network. A write within
// a node is then one copy, by the sender, into the receiver's slot.
//
// Which ranks are of one node the scenario says. Those that are must also be processes of one host,
// of one user and in one namespace of processes, and the receiver's slots must lie in shared pages,
// or in memory of a device that its processes can open (device_slots.h); each sender then maps its
// receivers' slots, and the counters of their connections. Where a pair can't, it goes by the
// network, and a note says why. A peer that ends is noticed by the exchange.

#include <memory>
#include <string>
#include <vector>

#include "backends/bootstrap/exchange.h"
#include "backends/measure/endpoint_maker.h"
#include "backends/shared/device_slots.h"

namespace gradhaul {

class NodeEndpointMaker final : public EndpointMaker {
 public:
  // node_of[r]: of rank r, the same on all ranks. `device`: of this rank's data, nullptr where that
  // is the host's. All outlive it.
  NodeEndpointMaker(Exchange& exchange, EndpointMaker& network, std::vector<int> node_of,
                    DeviceSlots* device = nullptr);
  ~NodeEndpointMaker() override;
  std::unique_ptr<Endpoint> make(const EndpointRequest& request) override;
  std::optional<std::chrono::nanoseconds> time_registration(std::span<std::byte> memory) override {
    return network_.time_registration(memory);
  }
  CountedAtPorts port_counts() override { return network_.port_counts(); }

  // Why ranks of one node do not share memory; each once.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  class Joining;

  Exchange& exchange_;
  EndpointMaker& network_;
  std::vector<int> node_of_;
  DeviceSlots* device_;
  bool nodes_have_several_ = false;
  // What the last endpoint's peers may have open, until all ranks meet for the next.
  std::shared_ptr<const void> offered_;
  std::vector<std::string> notes_;
};

}  // namespace gradhaul

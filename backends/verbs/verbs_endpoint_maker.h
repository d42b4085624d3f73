#pragma once

// Endpoints over RDMA verbs for the driver of a measurement. Devices are opened once, when the
// first endpoint is made: a rank that has none then tells all others.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/bootstrap/exchange.h"
#include "backends/measure/endpoint_maker.h"
#include "backends/verbs/verbs_backend.h"

namespace gradhaul {

class VerbsEndpointMaker final : public EndpointMaker {
 public:
  // By which NIC of this rank's node a connection goes.
  using NicOf = std::function<int(const ConnectionEnd&)>;

  // Has the rank's thread run where it should for the device that it serves.
  using Placer = std::function<ThreadPlace(const ServedDevice&)>;

  using Opener = std::function<std::unique_ptr<VerbsBackend>(const VerbsSettings&)>;

  // The exchange outlives it. Without a placer the thread stays where it is.
  VerbsEndpointMaker(Exchange& exchange, const VerbsSettings& settings, NicOf nic_of,
                     Opener opener = open_verbs, Placer placer = {});

  // Throws RankFailed, the same on all ranks, where one of them can't be joined.
  std::unique_ptr<Endpoint> make(const EndpointRequest& request) override;
  std::optional<std::chrono::nanoseconds> time_registration(std::span<std::byte> memory) override;
  // Waits for as long as the kernel may still answer with what it read the last time.
  CountedAtPorts port_counts() override;

  // The request's memory is a GPU's: by what this rank's ports reach it, by trying. What make()
  // gets from then on is registered so, until it is said that it is the host's (nullptr). Called on
  // all ranks or on none, before make(). Throws as make() does.
  DeviceReach reach(const EndpointRequest& request, const DeviceMemory* device);

  // What a user should know of this rank's ports and of where its thread runs.
  std::vector<std::string> notes() const;
  // How often its NICs read back what had arrived, and how long that took; empty: never.
  std::string flush_note() const;
  // What this rank's ports have counted since they were opened. "rxe0:1/completer_retry_err", 3
  CountedAtPorts counted() const;
  // Of these, what tells of trouble: retransmissions, errors, pauses.
  CountedAtPorts troubles() const;

 private:
  void open();
  void open_for(const EndpointRequest& request);
  void place_for(const EndpointRequest& request);

  Exchange& exchange_;
  VerbsSettings settings_;
  NicOf nic_of_;
  Opener opener_;
  Placer placer_;
  std::optional<ThreadPlace> place_;
  std::string placed_for_;  // a device
  std::unique_ptr<VerbsBackend> verbs_;
  const DeviceMemory* device_ = nullptr;
  DeviceReach reach_;
  FlushTimes flush_times_;
  int queue_pairs_ = 0;  // that it was opened with
  std::chrono::steady_clock::time_point counts_read_;
  CountedAtPorts counters_before_;
};

}  // namespace gradhaul

#pragma once

// RDMA verbs as a driver sees them: opened once, then an Endpoint for the connections of each
// engine. No header of libibverbs is needed here: where the program was built without it, or it is
// missing at run time, open_verbs() says what it would take.

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/host_memory.h"
#include "backends/endpoint.h"
#include "backends/host/thread_place.h"
#include "backends/verbs/device_memory.h"
#include "backends/verbs/verbs_error.h"
#include "backends/verbs/verbs_settings.h"
#include "core/connection.h"

namespace gradhaul {

// How often a rank's NICs read back what had arrived, and how long that took.
struct FlushTimes {
  std::int64_t count = 0;
  std::chrono::nanoseconds total{0};
};

// What an endpoint is made for. Memory is registered as long as the endpoint lives.
struct VerbsWiring {
  std::vector<ConnectionEnd> connections;  // as the engine numbers them
  // By connection, by which of its node's NICs this end goes (core/placement.h); empty: the first.
  // NIC i is the i-th usable port, counted around where there are fewer ports than NICs.
  std::vector<int> nics;
  int slots = 1;
  Bytes slot_size;
  HostMemory memory;
  // Where it is a GPU's: by what NICs reach it, as reach() found, and why by nothing better.
  DeviceReach reach;
  const DeviceMemory* device = nullptr;
  FlushTimes* flush_times = nullptr;  // to be added to; outlives the endpoint
  std::string thread;                 // where the rank's thread runs, in words; empty: nobody says
};

class VerbsBackend {
 public:
  virtual ~VerbsBackend() = default;

  // Every rank calls it as often as every other, with the same exchange. Throws VerbsError (on all
  // ranks, where one of them can't go on) or ExchangeError. The backend outlives its endpoints.
  virtual std::unique_ptr<Endpoint> make_endpoint(const VerbsWiring& wiring,
                                                  Exchange& exchange) = 0;
  // By what its ports can reach memory of a GPU, by trying with these bytes, which begin an
  // allocation.
  virtual DeviceReach reach(std::span<std::byte> bytes, const DeviceMemory& device) = 0;
  // What the first of its ports takes to register memory. Throws VerbsError.
  virtual std::chrono::nanoseconds time_registration(std::span<std::byte> memory) = 0;
  // The device of the port that NIC i goes by.
  virtual ServedDevice device_of(int nic) const = 0;
  // What was skipped, and what a user should know.
  virtual const std::vector<std::string>& notes() const = 0;
  // Of the ports in use: name and counters (retransmissions and the like) that the kernel keeps, as
  // /sys/class/infiniband/DEV/ports/P/{counters,hw_counters} has them. Empty where it has none.
  virtual std::vector<std::pair<std::string, std::int64_t>> counters() const = 0;
};

// Throws VerbsError.
std::unique_ptr<VerbsBackend> open_verbs(const VerbsSettings& settings);

}  // namespace gradhaul

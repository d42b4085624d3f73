#include "backends/verbs/verbs_endpoint_maker.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <thread>

#include "backends/measure/rank_failed.h"
#include "backends/verbs/join_exchange.h"

namespace gradhaul {
namespace {

// The kernel reads hw_counters anew no sooner than 10 ms after the last time, counted in whole
// ticks of 10 ms at the most [Linux, include/rdma/ib_verbs.h, RDMA_HW_STATS_DEFAULT_LIFESPAN].
constexpr std::chrono::milliseconds kCountsLive{25};

// Counters of ordinary traffic, by how their names end [Linux, Documentation/ABI/stable/
// sysfs-class-infiniband; drivers/infiniband/sw/rxe/rxe_hw_counters.c]; the rest counts what should
// not be.
bool counts_traffic(std::string_view name) {
  static constexpr std::array<std::string_view, 12> kTraffic{
      "_pkts",        "_packets",  "_data",    "_bytes",           "_sends",   "_recvs",
      "ack_deferred", "_requests", "_queries", "roce_adp_retrans", "_atomics", "link_downed"};
  return std::ranges::any_of(kTraffic, [&](std::string_view end) { return name.ends_with(end); });
}

}  // namespace

VerbsEndpointMaker::VerbsEndpointMaker(Exchange& exchange, const VerbsSettings& settings,
                                       NicOf nic_of, Opener opener, Placer placer)
    : exchange_(exchange),
      settings_(settings),
      nic_of_(std::move(nic_of)),
      opener_(std::move(opener)),
      placer_(std::move(placer)) {}

void VerbsEndpointMaker::open() {
  std::string error;
  try {
    verbs_ = opener_(settings_);
    counters_before_ = verbs_->counters();
    queue_pairs_ = settings_.queue_pairs;
  } catch (const VerbsError& failure) {
    error = failure.what();
  }
  if (!error.empty()) refuse_to_join(exchange_, error);
}

void VerbsEndpointMaker::open_for(const EndpointRequest& request) {
  settings_.queue_pairs = request.queue_pairs;
  if (!verbs_ || queue_pairs_ != request.queue_pairs) open();
}

// Before anything is allocated for connections: by the NIC of the first.
void VerbsEndpointMaker::place_for(const EndpointRequest& request) {
  if (!placer_ || request.connections.empty()) return;
  const ServedDevice device = verbs_->device_of(nic_of_(request.connections.front()));
  if (place_ && placed_for_ == device.name) return;
  std::string error;
  try {
    place_ = placer_(device);
    placed_for_ = device.name;
  } catch (const ThreadPlaceError& failure) {
    error = std::string("thread_placement: ") + failure.what();
  }
  if (!error.empty()) refuse_to_join(exchange_, error);
}

DeviceReach VerbsEndpointMaker::reach(const EndpointRequest& request, const DeviceMemory* device) {
  device_ = device;
  reach_ = {};
  if (device == nullptr) return reach_;
  try {
    open_for(request);
  } catch (const JoinFailed& error) {
    throw RankFailed(error.failure());
  }
  const HostMemory& memory = request.memory;
  reach_ = verbs_->reach(memory.slots.empty() ? memory.output : memory.slots, *device);
  if (reach_.path == MemoryPath::kHost) device_ = nullptr;
  return reach_;
}

std::unique_ptr<Endpoint> VerbsEndpointMaker::make(const EndpointRequest& request) {
  try {
    open_for(request);
    place_for(request);
    VerbsWiring wiring;
    if (place_) wiring.thread = text_of(*place_);
    wiring.connections = request.connections;
    for (const ConnectionEnd& end : request.connections) wiring.nics.push_back(nic_of_(end));
    wiring.slots = request.slots;
    wiring.slot_size = request.slot_size;
    wiring.memory = request.memory;
    wiring.reach = reach_;
    wiring.device = device_;
    wiring.flush_times = &flush_times_;
    return verbs_->make_endpoint(wiring, exchange_);
  } catch (const JoinFailed& error) {
    throw RankFailed(error.failure());
  }
}

std::optional<std::chrono::nanoseconds> VerbsEndpointMaker::time_registration(
    std::span<std::byte> memory) {
  if (!verbs_) return std::nullopt;
  try {
    return verbs_->time_registration(memory);
  } catch (const VerbsError& error) {
    throw RankFailed({exchange_.rank(), -1, error.what()});
  }
}

CountedAtPorts VerbsEndpointMaker::port_counts() {
  CountedAtPorts counts;
  if (!verbs_) return counts;
  std::this_thread::sleep_until(counts_read_ + kCountsLive);
  counts = verbs_->counters();
  counts_read_ = std::chrono::steady_clock::now();
  return counts;
}

std::vector<std::string> VerbsEndpointMaker::notes() const {
  std::vector<std::string> notes = verbs_ ? verbs_->notes() : std::vector<std::string>{};
  if (place_ && place_->amiss) notes.push_back("its thread may run anywhere: " + place_->why);
  return notes;
}

std::string VerbsEndpointMaker::flush_note() const {
  if (flush_times_.count == 0) return "";
  const auto each = flush_times_.total.count() / flush_times_.count;
  return "NICs of rank " + std::to_string(exchange_.rank()) + " read back " +
         std::to_string(flush_times_.count) + " times what had arrived, each in " +
         std::to_string(each / 1000) + "." + std::to_string(each % 1000 / 100) +
         " us until it was seen (flush)";
}

CountedAtPorts VerbsEndpointMaker::counted() const {
  return verbs_ ? growth(counters_before_, verbs_->counters()) : CountedAtPorts{};
}

CountedAtPorts VerbsEndpointMaker::troubles() const {
  CountedAtPorts troubles = counted();
  std::erase_if(troubles, [](const auto& counter) {
    return counter.second == 0 || counts_traffic(counter.first);
  });
  return troubles;
}

}  // namespace gradhaul

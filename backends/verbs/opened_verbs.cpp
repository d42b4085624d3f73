#include "backends/verbs/opened_verbs.h"

#include <utility>

#include "backends/verbs/port_counters.h"
#include "backends/verbs/verbs_endpoint.h"

namespace gradhaul {
namespace {

void check_range(const char* name, int value, int least, int most) {
  if (value >= least && value <= most) return;
  throw VerbsError(std::string(name) + " is " + std::to_string(value) + ", not from " +
                   std::to_string(least) + " to " + std::to_string(most));
}

void check(const VerbsSettings& settings) {
  check_range("gid_index", settings.gid_index, -1, 255);
  check_range("pkey_index", settings.pkey_index, 0, 65535);
  check_range("service_level", settings.service_level, 0, 15);
  check_range("traffic_class", settings.traffic_class, 0, 255);
  check_range("timeout", settings.timeout, 0, 31);
  check_range("retry", settings.retry, 0, 7);
  check_range("rnr_retry", settings.rnr_retry, 0, 7);
  check_range("rnr_timer", settings.rnr_timer, 0, 31);
  check_range("queue_pairs", settings.queue_pairs, 1, 64);
  check_range("inline_bytes", settings.inline_bytes, 0, 4096);
  check_range("signal_interval", settings.signal_interval, 1, 1024);
  check_range("max_writes_in_flight", settings.max_writes_in_flight, 1, 4096);
  if (settings.mtu.count != 0 && settings.mtu.count < 256) {
    throw VerbsError("the path MTU is 256, 512, 1024, 2048 or 4096, not " +
                     std::to_string(settings.mtu.count));
  }
}

}  // namespace

OpenedVerbs::OpenedVerbs(std::unique_ptr<VerbsLibrary> library, const VerbsSettings& settings)
    : library_(std::move(library)), settings_(settings) {
  check(settings_);
  rails_ = open_rails(*library_, settings_, notes_);
}

std::unique_ptr<Endpoint> OpenedVerbs::make_endpoint(const VerbsWiring& wiring,
                                                     Exchange& exchange) {
  return std::make_unique<VerbsEndpoint>(*library_, rails_, settings_, wiring, exchange);
}

std::chrono::nanoseconds OpenedVerbs::time_registration(std::span<std::byte> memory) {
  using Clock = std::chrono::steady_clock;
  bool relaxed = true;
  const Clock::time_point start = Clock::now();
  const MemoryRegion region =
      register_memory(*library_, rails_.front(), {memory.data(), memory.size()}, relaxed);
  return Clock::now() - start;
}

ServedDevice OpenedVerbs::device_of(int nic) const {
  const VerbsPort& port = rails_[static_cast<std::size_t>(nic) % rails_.size()].port;
  return {port.device, port.pci_path};
}

std::vector<std::pair<std::string, std::int64_t>> OpenedVerbs::counters() const {
  std::vector<std::pair<std::string, std::int64_t>> all;
  for (const RdmaRail& rail : rails_) {
    const auto of_port = port_counters("/sys/class/infiniband", rail.port.device, rail.port.port);
    all.insert(all.end(), of_port.begin(), of_port.end());
  }
  return all;
}

}  // namespace gradhaul

#include "scenarios/nic_limits_reader.h"

#include "scenarios/communication_thread_reader.h"

namespace gradhaul {
namespace {

constexpr std::int64_t kMostContexts = 1'000'000'000;
constexpr std::int64_t kLongestFetch = 1'000'000'000;      // 1 ms
constexpr std::int64_t kLongestSetup = 1'000'000'000'000;  // 1 s

NumberSpec unlimited(std::int64_t least, std::int64_t most) {
  return {.otherwise = {"unlimited"}, .least = least, .most = most, .words = {{"unlimited", 0}}};
}

}  // namespace

void read_nic_limits(MappingReader& reader, NicModel& nic) {
  nic.queue_pair_rate = reader.count("qp_message_rate", unlimited(1, 1'000'000'000'000));
  nic.queue_pair_cache = static_cast<int>(reader.count("qp_cache", unlimited(1, kMostContexts)));
  nic.memory_region_cache = static_cast<int>(reader.count("mr_cache", unlimited(1, kMostContexts)));
  // A dependent read of host memory by the NIC [Neugebauer et al., SIGCOMM 2018: 550 ns; more with
  // an IOTLB miss].
  nic.context_fetch = reader.time(
      "context_fetch",
      {.otherwise = {"550ns", true, "a NIC's read of host memory, SIGCOMM 2018", "550ns", "900ns"},
       .least = 0,
       .most = kLongestFetch});
  nic.queue_pair_setup = reader.time(
      "qp_setup", {.otherwise = {"1ms", true, "0.5-2 ms to make a queue pair and bring it to RTS",
                                 "500us", "2ms"},
                   .least = 0,
                   .most = kLongestSetup});
}

std::string what_packets_know(const Communication& communication, const Node& node) {
  std::string told = what_threads_do(communication);
  const auto tell = [&told](bool asked, const char* what) {
    if (asked) told += (told.empty() ? "" : " and ") + std::string(what);
  };
  const bool rdma = !communication.tcp;
  tell(rdma && node.nic.queue_pair_rate > 0, "qp_message_rate");
  tell(rdma && node.nic.queue_pair_cache > 0, "qp_cache");
  tell(rdma && node.nic.memory_region_cache > 0, "mr_cache");
  tell(node.bonded_nics, "bonded NICs");
  tell(rdma && communication.splits_over_queue_pairs && communication.queue_pairs > 1,
       "split_over_queue_pairs");
  return told;
}

}  // namespace gradhaul

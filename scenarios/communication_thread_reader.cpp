#include "scenarios/communication_thread_reader.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <string>

#include "core/nccl_profile.h"
#include "scenarios/thread_placement_reader.h"

namespace gradhaul {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000'000;
constexpr std::int64_t kLargestWrite = std::int64_t{1} << 31;  // IBTA vol. 1, 9.2
constexpr std::int64_t kLargestPage = std::int64_t{1} << 30;   // x86-64 has 4 KiB, 2 MiB and 1 GiB

const std::string kInterrupt = "completion: interrupt";

bool goes_by_host(const Cluster* cluster, const Communication& communication) {
  return cluster != nullptr && cluster->nodes > 1 &&
         !gpudirect_notes(cluster->node, communication.gpudirect, cluster->ranks_per_node).empty();
}

// A key that means something beside another's value alone: false, which has been reported, where it
// stands without it.
bool belongs(MappingReader& reader, std::string_view key, bool applies, std::string_view needed) {
  if (applies || !reader.has(key)) return applies;
  reader.raw(key);
  reader.report(key, fmt::format("{}: only with {}; add that, or leave this out", key, needed));
  return false;
}

void read_page_size(MappingReader& reader, Communication& communication) {
  const Bytes page = reader.bytes(
      "page_size",
      {.otherwise = {"auto"}, .least = 4096, .most = kLargestPage, .words = {{"auto", 0}}});
  if (page.count == 0) return;
  if (!std::has_single_bit(static_cast<std::uint64_t>(page.count))) {
    reader.report("page_size",
                  fmt::format("page_size: {} is no size of a page; these are powers of two, as "
                              "4KiB, 64KiB and 2MiB",
                              format_bytes(page)));
    return;
  }
  communication.registration.page = page;
}

// Of memory of GPUs or, where data is staged, of the host.
void read_registration(MappingReader& reader, bool host, Communication& communication) {
  constexpr std::array kTimes{Registering::kOnce, Registering::kPerTransfer, Registering::kCached};
  communication.registering = kTimes[reader.choice(
      "registration", {.otherwise = {"once"}, .available = {"once", "per_transfer", "cached"}})];
  communication.registration = host ? kHostRegistration : kGpuRegistration;
  read_page_size(reader, communication);
  // What was measured may stand in a file that registers once, before what is timed.
  const bool each = communication.registering == Registering::kPerTransfer;
  constexpr Default kHostBase{"16us", false, "UCX, registration cost of src/uct/ib"};
  constexpr Default kGpuBase{"130us", true, "60-200 us to register memory of a GPU", "60us",
                             "200us"};
  constexpr Default kHostPage{"245ns", true, "UCX, of 4 KiB; larger pages 300-500 ns", "245ns",
                              "500ns"};
  constexpr Default kGpuPage{"750ns", true, "0.5-1 us a page of 64 KiB", "500ns", "1us"};
  if (each || reader.has("registration_base")) {
    communication.registration.base = reader.time(
        "registration_base", {.otherwise = host ? kHostBase : kGpuBase, .most = kSecond});
  }
  if (each || reader.has("registration_page")) {
    communication.registration.per_page = reader.time(
        "registration_page", {.otherwise = host ? kHostPage : kGpuPage, .most = kSecond});
  }
  if (each || reader.has("deregistration")) {
    communication.registration.deregistration =
        reader.real("deregistration",
                    {.otherwise = {"0.45", true, "0.3-0.6 of what registering took", "0.3", "0.6"},
                     .most = 10});
  }
  if (communication.registering == Registering::kCached || reader.has("registration_hit")) {
    communication.registration.hit = reader.time(
        "registration_hit",
        {.otherwise = {"200ns", true, "UCX, 50-360 ns of its registration cache", "50ns", "360ns"},
         .most = kSecond});
  }
}

// mlx5 writes a work request that is posted by itself with the doorbell (rdma-core, providers/mlx5,
// qp.c), a chain of them not. NCCL posts a message as one, but over InfiniBand, whose adaptive
// routing it takes for granted, as a chain of two above NCCL_IB_AR_THRESHOLD.
void read_blue_flame(MappingReader& reader, bool nccl, const Cluster* cluster,
                     Communication& communication) {
  const bool chains = cluster == nullptr || cluster->network.kind == NetworkKind::kInfiniband;
  constexpr std::string_view kSource = "NCCL chains requests above NCCL_IB_AR_THRESHOLD";
  const Default otherwise = !nccl    ? Default{"0B"}
                            : chains ? Default{"8KiB", false, kSource}
                                     : Default{"2GiB", false, "NCCL posts single requests"};
  communication.blue_flame =
      reader.bytes("blue_flame", {.otherwise = otherwise, .least = 0, .most = kLargestWrite});
}

}  // namespace

void read_communication_thread(MappingReader& reader, const Cluster* cluster,
                               Communication& communication) {
  communication.sleeps = reader.choice("completion", {.otherwise = {"polling"},
                                                      .available = {"polling", "interrupt"}}) == 1;
  if (belongs(reader, "wake_up", communication.sleeps, kInterrupt)) {
    communication.wake_up = reader.time(
        "wake_up",
        {.otherwise = {"3.5us", true, "2-5 us from an interrupt to the thread", "2us", "5us"},
         .most = kSecond});
  }
  read_registration(reader, goes_by_host(cluster, communication), communication);
  communication.threads = read_thread_placement(reader, cluster);
  const bool nccl = is_nccl_profile(communication.profile);
  constexpr Default kProxyStep{"650ns", true, "0.3-1 us for NCCL's proxy to poll or post", "300ns",
                               "1us"};
  const bool tcp = reader.node() != nullptr && reader.node()->find("transport") != nullptr &&
                   reader.node()->find("transport")->text == "tcp";
  communication.thread_step = reader.time(
      "thread_step", {.otherwise = nccl && !tcp ? kProxyStep : Default{"0ns"}, .most = kSecond});
  read_blue_flame(reader, nccl, cluster, communication);
  constexpr std::array kFlushes{Flush::kAuto, Flush::kOn, Flush::kOff};
  communication.flush = kFlushes[reader.choice(
      "flush", {.otherwise = {nccl ? "auto" : "off"}, .available = {"auto", "on", "off"}})];
}

std::string what_threads_do(const Communication& communication) {
  std::string told;
  if (communication.registering == Registering::kPerTransfer) told = "registration: per_transfer";
  if (communication.registering == Registering::kCached) told = "registration: cached";
  if (communication.sleeps) told += (told.empty() ? "" : " and ") + kInterrupt;
  return told;
}

}  // namespace gradhaul

#pragma once

// Ranks of one process joined over a fake fabric in a ring of connections (rank r writes to r + 1),
// each with devices and settings of its own: what tests of set-up, failures and doorbells need.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/verbs/verbs_endpoint.h"
#include "tests/fake_verbs/fake_verbs.h"
#include "tests/fake_verbs/memory_exchange.h"

namespace gradhaul::fake {

class CollectedCompletions final : public CompletionSink {
 public:
  void on_completion(const Completion& completion) override { all.push_back(completion); }
  std::vector<Completion> of(CompletionKind kind) const {
    std::vector<Completion> found;
    std::ranges::copy_if(all, std::back_inserter(found),
                         [&](const Completion& c) { return c.kind == kind; });
    return found;
  }
  std::vector<Completion> all;
};

inline FakeDeviceSpec roce_host(int host) {
  FakeDeviceSpec spec;
  spec.ports.front().gids = {{.gid = ipv4_gid(10, 0, 0, static_cast<std::uint8_t>(host + 1))}};
  return spec;
}

struct RankPlan {
  std::vector<FakeDeviceSpec> devices;
  VerbsSettings settings;
  int slots = 4;
  Bytes slot_size{1024};
  std::vector<int> nics;
};

class JoinedRanks {
 public:
  static constexpr ConnectionId kOutgoing = 0;
  static constexpr ConnectionId kIncoming = 1;

  explicit JoinedRanks(Rank count, const VerbsSettings& settings = no_deadline())
      : plans(static_cast<std::size_t>(count)) {
    for (std::size_t rank = 0; rank < plans.size(); ++rank) {
      plans[rank].devices = {roce_host(static_cast<int>(rank))};
      plans[rank].settings = settings;
    }
  }
  // Deadlines run by the clock, and a loaded machine is slow.
  static VerbsSettings no_deadline() {
    VerbsSettings settings;
    settings.deadline = std::chrono::milliseconds{0};
    return settings;
  }

  std::vector<RankPlan> plans;  // to be changed before join()
  FakeFabric fabric;

  FakeVerbs& verbs(Rank rank) { return *host(rank).verbs; }
  VerbsEndpoint& endpoint(Rank rank) { return *host(rank).endpoint; }
  CollectedCompletions& seen(Rank rank) { return host(rank).seen; }
  std::vector<std::byte>& input(Rank rank) { return host(rank).input; }
  std::vector<std::byte>& slots(Rank rank) { return host(rank).slots; }
  const std::vector<std::string>& notes(Rank rank) { return host(rank).notes; }

  void make_libraries() {
    hosts_.resize(plans.size());
    for (std::size_t rank = 0; rank < plans.size(); ++rank) {
      hosts_[rank].verbs = std::make_unique<FakeVerbs>(fabric, plans[rank].devices);
    }
  }
  // What each rank threw; empty where it is joined.
  std::vector<std::string> join() {
    if (hosts_.empty()) make_libraries();
    const auto count = static_cast<Rank>(plans.size());
    std::vector<std::string> errors(plans.size());
    MemoryExchangeHub hub(count);
    for_ranks_at_once(count, [&](Rank rank) {
      try {
        join_rank(rank, hub);
      } catch (const VerbsError& error) {
        errors[static_cast<std::size_t>(rank)] = error.what();
      }
    });
    return errors;
  }

  void write(Rank rank, std::int32_t slot, std::int64_t length = 64) {
    endpoint(rank).post_write({.connection = kOutgoing,
                               .kind = WriteKind::kData,
                               .source = {Region::kInput, {0}},
                               .length = {length},
                               .slot = slot});
  }
  void credit(Rank rank, std::int32_t slots_returned) {
    endpoint(rank).post_write({.connection = kIncoming,
                               .kind = WriteKind::kCredit,
                               .source = {},
                               .length = {},
                               .slots_returned = slots_returned});
  }
  // Until nothing more comes.
  void settle() {
    bool any = true;
    while (any) {
      any = fabric.step();
      for (Host& host : hosts_) {
        if (host.endpoint) any = host.endpoint->poll(host.seen) || any;
      }
    }
  }
  void leave(Rank rank) { host(rank).endpoint.reset(); }

 private:
  struct Host {
    std::unique_ptr<FakeVerbs> verbs;
    std::vector<std::string> notes;
    std::vector<RdmaRail> rails;
    std::vector<std::byte> input, output, slots;
    std::unique_ptr<VerbsEndpoint> endpoint;
    CollectedCompletions seen;
  };
  Host& host(Rank rank) { return hosts_[static_cast<std::size_t>(rank)]; }

  void join_rank(Rank rank, MemoryExchangeHub& hub) {
    const RankPlan& plan = plans[static_cast<std::size_t>(rank)];
    Host& own = host(rank);
    const auto count = static_cast<Rank>(plans.size());
    own.rails = open_rails(*own.verbs, plan.settings, own.notes);
    own.input.assign(1 << 16, std::byte{7});
    own.output.assign(1 << 16, std::byte{0});
    own.slots.assign(static_cast<std::size_t>(plan.slot_size.count * plan.slots), std::byte{0});
    VerbsWiring wiring;
    wiring.connections = {{{0, rank, (rank + 1) % count, 0}, true, {}},
                          {{0, (rank + count - 1) % count, rank, 0}, false, {}}};
    wiring.nics = plan.nics;
    wiring.slots = plan.slots;
    wiring.slot_size = plan.slot_size;
    wiring.memory = {own.input, own.output, own.slots};
    MemoryExchange exchange(hub, rank);
    own.endpoint =
        std::make_unique<VerbsEndpoint>(*own.verbs, own.rails, plan.settings, wiring, exchange);
  }

  std::vector<Host> hosts_;
};

}  // namespace gradhaul::fake

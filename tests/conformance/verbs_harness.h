#pragma once

// The verbs endpoint under test over a fake fabric: a library, an endpoint and a reducer for each
// rank. What goes on next (a rank polls, a work request is executed or acknowledged, a reduction is
// computed) is drawn; so are queue pairs, how writes are spread, inline sizes and signalling.

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "backends/cpu/cpu_reducer.h"
#include "backends/verbs/verbs_endpoint.h"
#include "tests/conformance/transport_harness.h"
#include "tests/fake_verbs/fake_verbs.h"
#include "tests/fake_verbs/memory_exchange.h"

namespace gradhaul::conformance {

// One device with one port on RoCE v2, an address of its own for each host.
inline fake::FakeDeviceSpec roce_device(int host) {
  fake::FakeDeviceSpec spec;
  spec.ports.front().gids = {
      {.gid = fake::ipv4_gid(10, 0, 0, static_cast<std::uint8_t>(host + 1))}};
  return spec;
}

class VerbsConformanceWorld final : public ConformanceWorld {
 public:
  VerbsConformanceWorld(const WorldShape& shape, const VerbsSettings& settings, std::uint64_t seed)
      : in_place_(shape.in_place), fabric_(seed) {
    const Rank ranks = shape.ranks();
    fake::MemoryExchangeHub hub(ranks);
    hosts_.resize(static_cast<std::size_t>(ranks));
    for (Rank rank = 0; rank < ranks; ++rank) lay_out(shape, settings, rank);
    fake::for_ranks_at_once(ranks, [&](Rank rank) {
      Host& host = hosts_[static_cast<std::size_t>(rank)];
      fake::MemoryExchange exchange(hub, rank);
      VerbsWiring wiring;
      wiring.connections = shape.connections[static_cast<std::size_t>(rank)];
      wiring.slots = shape.slots;
      wiring.slot_size = shape.slot_size;
      wiring.memory = host.regions;
      host.endpoint =
          std::make_unique<VerbsEndpoint>(*host.verbs, host.rails, settings, wiring, exchange);
    });
  }

  ~VerbsConformanceWorld() override {
    hosts_.clear();
    GRADHAUL_ASSERT(fabric_.mistakes.empty() && fabric_.live_objects == 0,
                    "the library is used as its manual says, and all is given back");
  }

  Transport& transport(Rank rank) override {
    return *hosts_[static_cast<std::size_t>(rank)].endpoint;
  }
  Reducer& reducer(Rank rank) override { return *hosts_[static_cast<std::size_t>(rank)].reducer; }
  void connect(Rank rank, CompletionSink& sink) override {
    hosts_[static_cast<std::size_t>(rank)].sink = &sink;
  }
  std::span<std::byte> memory(Rank rank, Region region) override {
    return region_of(hosts_[static_cast<std::size_t>(rank)].regions, region);
  }

  bool step() override {
    // Something drawn, now and then; and all of it, before nothing is left to do.
    for (std::size_t tries = 0; tries < 4 * hosts_.size(); ++tries) {
      if (fabric_.draw(2) == 0 && fabric_.step()) continue;
      if (go_on(hosts_[fabric_.draw(hosts_.size())])) return true;
    }
    do {
      for (Host& host : hosts_) {
        if (go_on(host)) return true;
      }
    } while (fabric_.step());
    return false;
  }

  bool fail_write(const ConnectionKey& key, std::int64_t ordinal) override {
    const VerbsConnection* sender = nullptr;
    for (std::size_t id = 0; sender == nullptr; ++id) {
      const auto& endpoint = *hosts_[static_cast<std::size_t>(key.source)].endpoint;
      const VerbsConnection& one = endpoint.connection(static_cast<ConnectionId>(id));
      if (one.key() == key && one.sends()) sender = &one;
    }
    const ImmediateFormat format = sender->format();
    // Where numbers come round, the first of these writes would fail.
    if (ordinal > format.number_mask()) return false;
    fabric_.verdict = [sender, ordinal, format](const fake::FakeQp& qp,
                                                const fake::FakeSend& send) {
      const ImmediateFormat::Data data = format.data_of(fake::immediate_of(send));
      const bool hit = data.number == ordinal;
      bool of_sender = false;
      for (std::size_t i = 0; i < sender->queue_pairs(); ++i) {
        of_sender = of_sender || sender->queue_pair(i) == &qp;
      }
      return hit && of_sender ? IBV_WC_REM_ACCESS_ERR : IBV_WC_SUCCESS;
    };
    return true;
  }

  fake::FakeFabric& fabric() { return fabric_; }
  const VerbsEndpoint& endpoint(Rank rank) {
    return *hosts_[static_cast<std::size_t>(rank)].endpoint;
  }

 private:
  struct Host {
    std::vector<std::byte> input;
    std::vector<std::byte> output;
    std::vector<std::byte> slots;
    HostMemory regions;
    std::unique_ptr<fake::FakeVerbs> verbs;
    std::vector<RdmaRail> rails;
    std::unique_ptr<VerbsEndpoint> endpoint;
    std::unique_ptr<CpuReducer> reducer;
    CompletionSink* sink = nullptr;
  };

  void lay_out(const WorldShape& shape, const VerbsSettings& settings, Rank rank) {
    Host& host = hosts_[static_cast<std::size_t>(rank)];
    const auto size = [](Bytes bytes) { return static_cast<std::size_t>(bytes.count); };
    host.output.resize(size(shape.output));
    host.slots.resize(size(shape.slots_bytes[static_cast<std::size_t>(rank)]));
    if (!in_place_) host.input.resize(size(shape.input));
    host.regions = {in_place_ ? host.output : host.input, host.output, host.slots};
    host.verbs = std::make_unique<fake::FakeVerbs>(
        fabric_, std::vector<fake::FakeDeviceSpec>{roce_device(rank)});
    std::vector<std::string> notes;
    host.rails = open_rails(*host.verbs, settings, notes);
    host.reducer = std::make_unique<CpuReducer>(host.regions);
  }

  bool go_on(Host& host) {
    if (host.endpoint->poll(*host.sink)) return true;
    if (host.reducer->pending() == 0) return false;
    std::int32_t stream = 0;
    while (host.reducer->pending(stream) == 0) ++stream;
    host.reducer->complete_oldest(stream, *host.sink);
    return true;
  }

  bool in_place_;
  fake::FakeFabric fabric_;
  std::vector<Host> hosts_;
};

inline VerbsSettings drawn_settings(std::uint64_t seed) {
  VerbsSettings settings;
  settings.queue_pairs = 1 + static_cast<int>(seed % 4);
  settings.inline_bytes = static_cast<int>(seed / 3 % 3) * 32;
  settings.signal_interval = 1 + static_cast<int>(seed / 5 % 3);
  settings.max_writes_in_flight = seed % 5 == 4 ? 1 + static_cast<int>(seed % 3) : 64;
  settings.deadline = std::chrono::milliseconds{0};  // a debugger may stop the world
  return settings;
}

// Writes alternate over the queue pairs.
class AlternatingVerbs final : public TransportHarness {
 public:
  std::unique_ptr<ConformanceWorld> make_world(const WorldShape& shape,
                                               std::uint64_t seed) const override {
    return std::make_unique<VerbsConformanceWorld>(shape, drawn_settings(seed), seed);
  }
};

// Each write is split over all of them.
class SplittingVerbs final : public TransportHarness {
 public:
  std::unique_ptr<ConformanceWorld> make_world(const WorldShape& shape,
                                               std::uint64_t seed) const override {
    VerbsSettings settings = drawn_settings(seed);
    settings.split_writes = true;
    return std::make_unique<VerbsConformanceWorld>(shape, settings, seed);
  }
};

// Data goes without its immediate, which follows by itself; split now and then.
class ApartVerbs final : public TransportHarness {
 public:
  std::unique_ptr<ConformanceWorld> make_world(const WorldShape& shape,
                                               std::uint64_t seed) const override {
    VerbsSettings settings = drawn_settings(seed);
    settings.split_writes = seed % 3 == 1;
    settings.immediate_apart = true;
    return std::make_unique<VerbsConformanceWorld>(shape, settings, seed);
  }
};

// What arrives is read back before it is told.
class ReadBackVerbs final : public TransportHarness {
 public:
  std::unique_ptr<ConformanceWorld> make_world(const WorldShape& shape,
                                               std::uint64_t seed) const override {
    VerbsSettings settings = drawn_settings(seed);
    settings.split_writes = seed % 2 == 1;
    settings.flush = FlushMode::kOn;
    return std::make_unique<VerbsConformanceWorld>(shape, settings, seed);
  }
  std::uint64_t one_case_in() const override { return 5; }
};

}  // namespace gradhaul::conformance

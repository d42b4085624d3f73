// The conformance suite of tests/conformance over real verbs, all ranks in one process:
//   verbs_conformance DEVICE… [--gtest_…]
// Rank r is on the device r mod their number. Nothing is made to fail: for that there is the fake.

#include <cstdio>
#include <string>
#include <vector>

#include "backends/verbs/verbs_backend.h"
#include "tests/conformance/endpoint_world.h"
#include "tests/conformance/transport_conformance.h"
#include "tests/fake_verbs/memory_exchange.h"

namespace gradhaul::conformance {
namespace {

constexpr int kQueuePairs = 2;

std::vector<std::string>& devices() {
  static std::vector<std::string> names;
  return names;
}

// One for each rank, kept from world to world.
VerbsBackend& backend_of(Rank rank) {
  static std::vector<std::unique_ptr<VerbsBackend>> backends;
  while (backends.size() <= static_cast<std::size_t>(rank)) {
    VerbsSettings settings;
    settings.devices = "=" + devices()[backends.size() % devices().size()];
    settings.queue_pairs = kQueuePairs;
    settings.completion = CompletionMode::kPolling;
    backends.push_back(open_verbs(settings));
  }
  return *backends[static_cast<std::size_t>(rank)];
}

// Knows what is on its way by counting: each write that was flushed completes at both of its ends.
class RealVerbsWorld final : public EndpointWorld {
 public:
  explicit RealVerbsWorld(const WorldShape& shape) : EndpointWorld(shape, kQueuePairs) {
    const Rank ranks = shape.ranks();
    for (Rank rank = 0; rank < ranks; ++rank) backend_of(rank);
    endpoints_.resize(static_cast<std::size_t>(ranks));
    fake::MemoryExchangeHub hub(ranks);
    fake::for_ranks_at_once(ranks, [&](Rank rank) {
      const auto index = static_cast<std::size_t>(rank);
      fake::MemoryExchange exchange(hub, rank);
      const EndpointRequest request = this->request(index);
      VerbsWiring wiring;
      wiring.connections = request.connections;
      wiring.slots = request.slots;
      wiring.slot_size = request.slot_size;
      wiring.memory = request.memory;
      endpoints_[index] = backend_of(rank).make_endpoint(wiring, exchange);
    });
    for (const auto& endpoint : endpoints_) {
      transports_.push_back(std::make_unique<CountingTransport>(*endpoint, *this));
      counting_.push_back(std::make_unique<CountingSink>(*this));
    }
  }

  // Nothing is written any more into memory that goes.
  ~RealVerbsWorld() override { endpoints_.clear(); }
  RealVerbsWorld(const RealVerbsWorld&) = delete;
  RealVerbsWorld& operator=(const RealVerbsWorld&) = delete;

  Transport& transport(Rank rank) override { return *transports_[static_cast<std::size_t>(rank)]; }
  void connect(Rank rank, CompletionSink& sink) override {
    CountingSink& counting = *counting_[static_cast<std::size_t>(rank)];
    counting.sink = &sink;
    EndpointWorld::connect(rank, counting);
  }

 private:
  class CountingTransport final : public Transport {
   public:
    CountingTransport(Endpoint& endpoint, RealVerbsWorld& world)
        : endpoint_(endpoint), world_(world) {}
    TransportLimits limits() const override { return endpoint_.limits(); }
    void post_write(const WriteRequest& request) override {
      ++staged_;
      endpoint_.post_write(request);
    }
    void flush() override {
      world_.due_ += 2 * std::exchange(staged_, 0);
      endpoint_.flush();
    }

   private:
    Endpoint& endpoint_;
    RealVerbsWorld& world_;
    std::int64_t staged_ = 0;
  };
  class CountingSink final : public CompletionSink {
   public:
    explicit CountingSink(RealVerbsWorld& world) : world_(world) {}
    void on_completion(const Completion& completion) override {
      if (completion.kind != CompletionKind::kReduceDone) --world_.due_;
      sink->on_completion(completion);
    }
    CompletionSink* sink = nullptr;

   private:
    RealVerbsWorld& world_;
  };

  bool may_come() override { return due_ > 0; }

  std::vector<std::unique_ptr<CountingTransport>> transports_;
  std::vector<std::unique_ptr<CountingSink>> counting_;
  std::int64_t due_ = 0;
};

class RealVerbs final : public TransportHarness {
 public:
  std::unique_ptr<ConformanceWorld> make_world(const WorldShape& shape,
                                               std::uint64_t /*seed*/) const override {
    return std::make_unique<RealVerbsWorld>(shape);
  }
  // Each world is some dozen queue pairs, and all is emulated.
  std::uint64_t one_case_in() const override { return 101; }
};

INSTANTIATE_TYPED_TEST_SUITE_P(RealVerbs, TransportConformance, RealVerbs);

}  // namespace
}  // namespace gradhaul::conformance

int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  for (int i = 1; i < count; ++i) gradhaul::conformance::devices().emplace_back(arguments[i]);
  if (gradhaul::conformance::devices().empty()) {
    std::fputs("usage: verbs_conformance DEVICE… [--gtest_…]\n", stderr);
    return 2;
  }
  return RUN_ALL_TESTS();
}

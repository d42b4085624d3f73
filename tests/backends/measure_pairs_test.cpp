// Writes between pairs, one of which is held up: once, or always.

#include "backends/measure/measure_pairs.h"

#include <gmock/gmock.h>

#include <thread>

#include "backends/bootstrap/thread_exchange.h"
#include "backends/cpu/host_rank_memory.h"
#include "backends/loopback/memory_endpoint.h"

namespace gradhaul {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr auto kHeldUp = 20ms;

// Each poll of which takes that long.
class HeldUpEndpoint final : public Endpoint {
 public:
  explicit HeldUpEndpoint(std::unique_ptr<Endpoint> inner) : inner_(std::move(inner)) {}
  TransportLimits limits() const override { return inner_->limits(); }
  void post_write(const WriteRequest& request) override { inner_->post_write(request); }
  void flush() override { inner_->flush(); }
  bool poll(CompletionSink& sink) override {
    std::this_thread::sleep_for(kHeldUp);
    return inner_->poll(sink);
  }
  std::optional<RankFailure> failure() const override { return inner_->failure(); }
  std::vector<std::pair<std::string, std::string>> facts() const override {
    return inner_->facts();
  }

 private:
  std::unique_ptr<Endpoint> inner_;
};

// Holds up what rank 0 writes to rank 1 and gets nothing from, so many times.
class HoldingUpMaker final : public EndpointMaker {
 public:
  HoldingUpMaker(EndpointMaker& inner, int times) : inner_(inner), times_(times) {}
  std::unique_ptr<Endpoint> make(const EndpointRequest& request) override {
    std::unique_ptr<Endpoint> endpoint = inner_.make(request);
    const bool one_way = request.connections.size() == 1 && request.connections[0].sends &&
                         request.connections[0].key.source == 0 &&
                         request.connections[0].key.destination == 1;
    if (!one_way || times_ == 0) return endpoint;
    --times_;
    return std::make_unique<HeldUpEndpoint>(std::move(endpoint));
  }

 private:
  EndpointMaker& inner_;
  int times_;
};

// Of node 0 to node 1 among four.
PairTime held_up(int times) {
  MeasureRequest request;
  request.cluster.nodes = 4;
  request.communication.channels = 1;
  request.pairs = PairSettings{.nics = 1, .size = {1024}, .slots = 2};
  request.series.iterations = 1;
  request.series.warmup = 0;
  request.timeout = 60s;
  ThreadGroup group(4, 60s);
  MemoryMeetingPlace place;
  PairTime found;
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < 4; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadExchange exchange(group, rank);
      MemoryEndpointMaker inner(place, exchange);
      HoldingUpMaker endpoints(inner, times);
      HostRankMemory memory;
      const auto pairs = measure_pairs(request, {exchange, endpoints, memory});
      ASSERT_TRUE(pairs);
      ASSERT_EQ(pairs->size(), 12U);
      if (rank == 0) found = pairs->front();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(found.from, 0);
  EXPECT_EQ(found.to, 1);
  return found;
}

TEST(MeasuredPairs, AreMeasuredAgainWhereTheyAreSlow) {
  const PairTime once = held_up(1);
  EXPECT_GE(once.repeats, 1);
  EXPECT_LT(once.one_way.ps, std::chrono::nanoseconds(kHeldUp).count() * 1000);
  const PairTime always = held_up(100);
  EXPECT_EQ(always.repeats, 2);
  EXPECT_GE(always.one_way.ps, std::chrono::nanoseconds(kHeldUp).count() * 1000);
}

}  // namespace
}  // namespace gradhaul

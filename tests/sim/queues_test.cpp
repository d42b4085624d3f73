// What waits before a link against queueing theory: packets that come at random, evenly, or all at
// once. Means of a million draws of fixed seeds, within 5 %; without draws, to the picosecond.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "sim/packet_engine.h"
#include "tests/sim/cluster_examples.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

// Of the ideal network: packets without headers on 50 GB/s, 1 us on the way.
constexpr std::int64_t kPacket = 4096;
constexpr std::int64_t kService = kPacket * 20;  // ps
constexpr std::int64_t kWay = 1'000'000;

struct Arrival {
  std::int64_t time = 0;  // ps
  std::int64_t bytes = kPacket;
};

// How long each packet waits for the first wire of a node, which they leave in their order.
class Queue final : private Endpoints {
 public:
  explicit Queue(const std::vector<Arrival>& arrivals)
      : arrivals_(arrivals), fabric_(pair()), engine_(fabric_, *this) {
    FlowSpec spec;
    spec.route = {fabric_.wire(0, 0, 1, 0).front()};
    spec.data = true;
    const FlowId flow = engine_.add_flow(spec);
    // As they come, so that few are kept at a time.
    constexpr std::size_t kBatch = 10'000;
    for (std::size_t i = 0; i < arrivals_.size(); ++i) {
      Packet packet;
      packet.payload = static_cast<std::int32_t>(arrivals_[i].bytes);
      engine_.send(flow, packet, arrivals_[i].time);
      if (i % kBatch == kBatch - 1) engine_.run(arrivals_[i].time);
    }
    engine_.run(INT64_MAX - 1);
  }

  const std::vector<std::int64_t>& waits() const { return waits_; }
  double mean_services() const {  // waited, in times of a packet of 4096 bytes
    return std::accumulate(waits_.begin(), waits_.end(), 0.0) /
           static_cast<double>(waits_.size() * kService);
  }

 private:
  static Cluster pair() {
    Cluster cluster = ideal_cluster(2);
    cluster.network.topology.leaves = 1;
    return cluster;
  }
  void on_first_start(const Packet& /*packet*/, std::int64_t /*now*/) override {}
  void on_delivery(const Packet& /*packet*/, std::int64_t delivered) override {
    const Arrival& arrival = arrivals_[waits_.size()];
    const std::int64_t way = fabric_.link(engine_.first_link(0)).latency.ps;
    waits_.push_back(delivered - arrival.time - arrival.bytes * 20 - way);
  }
  void on_event(std::uint32_t /*kind*/, std::int32_t /*index*/) override {}

  std::vector<Arrival> arrivals_;
  Fabric fabric_;
  PacketEngine engine_;
  std::vector<std::int64_t> waits_;
};

// A Poisson process of so many packets, which keep the link busy for a share `load` of the time.
std::vector<Arrival> at_random(double load, bool random_sizes) {
  std::mt19937_64 random(7);  // NOLINT(cert-msc51-cpp): the same draws each time
  std::exponential_distribution<double> gap(load / static_cast<double>(kService));
  std::exponential_distribution<double> size(1.0 / kPacket);
  std::vector<Arrival> arrivals(1'000'000);
  double time = 0;
  for (Arrival& arrival : arrivals) {
    arrival.time = std::llround(time += gap(random));
    if (random_sizes) arrival.bytes = std::max<std::int64_t>(1, std::llround(size(random)));
  }
  return arrivals;
}

// M/D/1: packets of one size wait load / (2 (1 - load)) of their time on the link.
TEST(Queues, OfOneSizeWaitAsPollaczekAndKhinchineSay) {
  for (const double load : {0.5, 0.8, 0.9}) {
    const double expected = load / (2 * (1 - load));
    EXPECT_NEAR(Queue(at_random(load, false)).mean_services(), expected, 0.05 * expected) << load;
  }
}

// M/M/1: of exponential sizes, twice that.
TEST(Queues, OfExponentialSizesWaitTwiceAsLong) {
  for (const double load : {0.5, 0.8}) {
    const double expected = load / (1 - load);
    EXPECT_NEAR(Queue(at_random(load, true)).mean_services(), expected, 0.05 * expected) << load;
  }
}

// D/D/1: nobody waits for a link that is free just then.
TEST(Queues, OfWhatComesEvenlyAreNone) {
  for (const std::int64_t gap : {kService, kService + 1, 2 * kService}) {
    std::vector<Arrival> arrivals;
    for (std::int64_t i = 0; i < 2'000; ++i) arrivals.push_back({i * gap});
    const Queue queue(arrivals);
    EXPECT_EQ(queue.waits(), std::vector<std::int64_t>(arrivals.size(), 0)) << gap;
  }
}

// When the packets of an incast, one from each of so many nodes, are at its one port.
class Burst final : private Endpoints {
 public:
  explicit Burst(int senders) {
    Cluster cluster = ideal_cluster(senders + 1);
    cluster.network.topology.leaves = 1;
    const Fabric fabric(cluster);
    PacketEngine engine(fabric, *this);
    for (int sender = 0; sender < senders; ++sender) {
      FlowSpec spec;
      spec.route = fabric.wire(sender, 0, senders, 0);
      spec.data = true;
      Packet packet;
      packet.payload = kPacket;
      engine.send(engine.add_flow(spec), packet, 0);
    }
    engine.run(INT64_MAX - 1);
    std::sort(times_.begin(), times_.end());
  }
  const std::vector<std::int64_t>& times() const { return times_; }

 private:
  void on_first_start(const Packet& /*packet*/, std::int64_t /*now*/) override {}
  void on_delivery(const Packet& /*packet*/, std::int64_t delivered) override {
    times_.push_back(delivered);
  }
  void on_event(std::uint32_t /*kind*/, std::int32_t /*index*/) override {}

  std::vector<std::int64_t> times_;
};

// Of n at once the last waits (n - 1) times as long as one takes, all (n - 1) / 2 on average.
TEST(Queues, OfABurstAreServedOneByOne) {
  for (const int senders : {1, 2, 7, 32}) {
    const std::vector<std::int64_t> times = Burst(senders).times();
    ASSERT_EQ(times.size(), static_cast<std::size_t>(senders));
    std::int64_t waited = 0;
    for (int i = 0; i < senders; ++i) {
      const std::int64_t wait = times[static_cast<std::size_t>(i)] - kWay - kService;
      EXPECT_EQ(wait, i * kService);
      waited += wait;
    }
    EXPECT_EQ(2 * waited, senders * (senders - 1) * kService);
  }
}

}  // namespace
}  // namespace gradhaul

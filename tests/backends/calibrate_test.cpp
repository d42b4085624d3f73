// Microbenchmarks over endpoints whose latency and bandwidth are known, since arrivals are held
// back by that much.

#include "backends/measure/calibrate.h"

#include <gmock/gmock.h>

#include <deque>
#include <thread>

#include "backends/bootstrap/tcp_exchange.h"
#include "backends/bootstrap/thread_exchange.h"
#include "backends/cpu/host_rank_memory.h"
#include "backends/loopback/memory_endpoint.h"
#include "backends/tcp/tcp_endpoint_maker.h"

namespace gradhaul {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using testing::IsEmpty;
using testing::Not;

// What arrives here passes a wire of so many bytes a second, one after the other, and is on its way
// for so long besides.
struct SlowWire {
  nanoseconds latency;
  double bytes_per_second;
};

class SlowEndpoint final : public Endpoint, private CompletionSink {
 public:
  SlowEndpoint(std::unique_ptr<Endpoint> inner, SlowWire wire)
      : inner_(std::move(inner)), wire_(wire) {}
  TransportLimits limits() const override { return inner_->limits(); }
  void post_write(const WriteRequest& request) override { inner_->post_write(request); }
  void flush() override { inner_->flush(); }
  bool poll(CompletionSink& sink) override {
    inner_->poll(*this);
    bool any = false;
    for (; !held_.empty() && held_.front().first <= Clock::now(); held_.pop_front()) {
      sink.on_completion(held_.front().second);
      any = true;
    }
    return any;
  }
  // Asleep, so that whoever else wants the core has it, and wakes this one up in time.
  void wait(std::chrono::microseconds most) override {
    if (!held_.empty()) {
      std::this_thread::sleep_until(std::min(held_.front().first, Clock::now() + most));
    } else {
      inner_->wait(most);
    }
  }
  std::optional<RankFailure> failure() const override { return inner_->failure(); }
  std::vector<std::pair<std::string, std::string>> facts() const override {
    return inner_->facts();
  }

 private:
  void on_completion(const Completion& completion) override {
    Clock::time_point due = Clock::now();
    if (completion.kind == CompletionKind::kWriteArrived) {
      const double seconds = static_cast<double>(completion.amount) / wire_.bytes_per_second;
      free_ = std::max(free_, due) +
              std::chrono::duration_cast<nanoseconds>(std::chrono::duration<double>(seconds));
      due = free_ + wire_.latency;
    }
    if (!held_.empty()) due = std::max(due, held_.back().first);
    held_.emplace_back(due, completion);
  }

  std::unique_ptr<Endpoint> inner_;
  SlowWire wire_;
  Clock::time_point free_;
  std::deque<std::pair<Clock::time_point, Completion>> held_;
};

class SlowEndpointMaker final : public EndpointMaker {
 public:
  SlowEndpointMaker(EndpointMaker& inner, SlowWire wire) : inner_(inner), wire_(wire) {}
  std::unique_ptr<Endpoint> make(const EndpointRequest& request) override {
    return std::make_unique<SlowEndpoint>(inner_.make(request), wire_);
  }

 private:
  EndpointMaker& inner_;
  SlowWire wire_;
};

MeasureRequest request_of(CalibrationSettings settings) {
  MeasureRequest request;
  request.cluster.nodes = 2;
  request.communication.channels = 1;
  request.workload.sizes = {{8}};
  request.calibration = std::move(settings);
  request.series.warmup = 1;
  request.series.budget = 1ms;
  request.timeout = 60s;
  return request;
}

// Of rank 0.
Calibration calibrated_between_threads(const MeasureRequest& request,
                                       std::optional<SlowWire> wire = std::nullopt) {
  ThreadGroup group(2, 60s);
  MemoryMeetingPlace place;
  Calibration found;
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadExchange exchange(group, rank);
      MemoryEndpointMaker fast(place, exchange);
      SlowEndpointMaker slow(fast, wire.value_or(SlowWire{}));
      EndpointMaker& endpoints = wire ? static_cast<EndpointMaker&>(slow) : fast;
      HostRankMemory memory;
      MeasureRequest mine = request;
      if (rank == 0) mine.calibrated = &found;
      const Measurement measured = measure(mine, {exchange, endpoints, memory});
      EXPECT_THAT(measured.failures, IsEmpty());
    });
  }
  for (std::thread& thread : threads) thread.join();
  return found;
}

const CalibrationSample* find(const Calibration& found, CalibrationKind kind, Bytes size,
                              int depth = 1, int queue_pairs = 1) {
  for (const CalibrationSample& sample : found.samples) {
    if (sample.kind == kind && sample.size == size && sample.depth == depth &&
        sample.queue_pairs == queue_pairs) {
      return &sample;
    }
  }
  return nullptr;
}

// A write of 64 KiB takes its 3.3 ms on the wire and the latency of 5 ms; of a stream with enough
// of them on their way the wire alone counts, of one at a time both. Never less; and not half as
// much again, of the tenth that went best: the machine may do other things in between.
TEST(Calibrate, FindsALatencyAndABandwidthThatAreKnown) {
  constexpr double kWire = 65536 / 20e6;
  const Calibration found = calibrated_between_threads(
      request_of(
          {.sizes = {{8}, {65536}}, .queue_pairs = {1}, .depths = {1, 16}, .most_messages = 4}),
      SlowWire{5ms, 20e6});
  const auto expect_about = [&](const CalibrationSample* sample, double seconds) {
    ASSERT_NE(sample, nullptr);
    EXPECT_GE(sample->low.seconds(), 0.999 * seconds);
    EXPECT_LE(sample->low.seconds(), 1.5 * seconds);
    EXPECT_LE(sample->low, sample->median);
    EXPECT_LE(sample->median, sample->high);
    EXPECT_GE(sample->repetitions, 5);
  };
  expect_about(find(found, CalibrationKind::kLatency, {8}), 5e-3);
  expect_about(find(found, CalibrationKind::kLatency, {65536}), 5e-3 + kWire);
  expect_about(find(found, CalibrationKind::kBandwidth, {65536}, 1), 5e-3 + kWire);
  // Of four, one after the other, and once the latency.
  expect_about(find(found, CalibrationKind::kBandwidth, {65536}, 16), kWire + 5e-3 / 4);
}

void expect_all(const Calibration& found) {
  for (const Bytes size : {Bytes{64}, Bytes{4096}}) {
    for (const CalibrationKind kind :
         {CalibrationKind::kLatency, CalibrationKind::kReduce, CalibrationKind::kCopy}) {
      EXPECT_NE(find(found, kind, size), nullptr);
    }
    for (const int depth : {1, 4}) {
      for (const int queue_pairs : {1, 2}) {
        EXPECT_NE(find(found, CalibrationKind::kBandwidth, size, depth, queue_pairs), nullptr);
      }
    }
    // Neither threads nor sockets register memory.
    EXPECT_EQ(find(found, CalibrationKind::kRegistration, size), nullptr);
  }
  EXPECT_NE(find(found, CalibrationKind::kStep, {64}), nullptr);
  EXPECT_NE(find(found, CalibrationKind::kCopy, {128 << 20}), nullptr);
  EXPECT_THAT(found.facts, Not(IsEmpty()));
  for (const CalibrationSample& sample : found.samples) {
    EXPECT_GT(sample.low.ps, 0);
    EXPECT_LE(sample.low, sample.median);
    EXPECT_LE(sample.median, sample.high);
    EXPECT_GE(sample.repetitions, 5);
  }
}

const CalibrationSettings kSmall{
    .sizes = {{64}, {4096}}, .queue_pairs = {1, 2}, .depths = {1, 4}, .most_messages = 20};

TEST(Calibrate, HasAllOfItBetweenThreads) {
  expect_all(calibrated_between_threads(request_of(kSmall)));
}

TEST(Calibrate, HasAllOfItOverSockets) {
  Calibration found;
  Socket listener = listen_at({"127.0.0.1", 0});
  const SocketAddress address = local_address(listener);
  const auto run_rank = [&](Rank rank) {
    RendezvousSettings settings;
    settings.rank = rank;
    settings.ranks = 2;
    const auto exchange = rank == 0 ? TcpExchange::host(std::move(listener), settings)
                                    : TcpExchange::join(address, settings);
    TcpEndpointMaker endpoints(*exchange, exchange->local_host(), 60s);
    HostRankMemory memory;
    MeasureRequest request = request_of(kSmall);
    if (rank == 0) request.calibrated = &found;
    EXPECT_THAT(measure(request, {*exchange, endpoints, memory}).failures, IsEmpty());
  };
  std::thread other([&] { run_rank(1); });
  run_rank(0);
  other.join();
  expect_all(found);
}

}  // namespace
}  // namespace gradhaul

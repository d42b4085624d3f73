// What is told to whoever looks on at a run: every slice once, with its stages in order and at the
// times of the closed form; what links served; and a run that is not changed by being looked at.

#include "sim/run_observation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "core/infiniband_framing.h"
#include "sim/predict.h"
#include "tests/sim/cluster_examples.h"
#include "tests/sim/same_prediction.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)
using testing::ElementsAre;
using testing::Pair;

class Onlooker final : public RunObserver {
 public:
  bool watches(const ObservedLink& /*link*/) const override { return true; }
  void on_row(const RunLayout& row) override { layout = row; }
  void on_transfer(const ObservedTransfer& transfer) override { transfers.push_back(transfer); }
  void on_operation(const ObservedOperation& done) override { operations.push_back(done); }
  void on_service(const ObservedService& service) override { services.push_back(service); }
  void on_queued(std::int32_t link, std::int64_t /*time*/, Bytes wire) override {
    queued[link] += wire.count;
  }
  void on_hold(std::int32_t link, HoldCause cause, std::int64_t since,
               std::int64_t until) override {
    (cause == HoldCause::kPaused ? paused : stalled)[link] += until - since;
  }
  void on_row_end(std::int64_t time, bool complete) override {
    end = time;
    finished = complete;
  }

  std::int64_t busy(const std::string& name) const {
    std::int64_t sum = 0;
    for (const ObservedService& service : services) {
      if (layout.links[static_cast<std::size_t>(service.link)].name == name) {
        sum += service.end - service.start;
      }
    }
    return sum;
  }

  RunLayout layout;
  std::vector<ObservedTransfer> transfers;
  std::vector<ObservedOperation> operations;
  std::vector<ObservedService> services;
  std::map<std::int32_t, std::int64_t> queued;
  std::map<std::int32_t, std::int64_t> paused;
  std::map<std::int32_t, std::int64_t> stalled;
  std::int64_t end = -1;
  bool finished = false;
};

Prediction observed(PredictionRequest request, Onlooker& onlooker) {
  request.skip_recurrences = false;
  request.observer = &onlooker;
  return predict(request);
}

// Everything that a packet can meet: PCIe in common, NICs in common, credits, latencies.
PredictionRequest contended() {
  Node node = bare_node(1, 4);
  node.gpu_count = 2;
  node.nic_count = 1;
  node.pcie = {{"sw0", "socket0", PcieLink{3, 16}, {"gpu0", "gpu1"}},
               {"", "socket0", std::nullopt, {"nic0"}}};
  give_latencies(node);
  node.gpu.reduce_bandwidth = 20_GBps;
  PredictionRequest request = request_for(one_switch(node, 3, 200_Gbps), {1'000'002});
  request.communication.channels = 2;
  request.communication.slot_size = {50'000};
  return request;
}

PredictionRequest two_ideal_ranks(Bytes size, Bytes slot, int slots) {
  PredictionRequest request = request_for(ideal_cluster(2), size);
  request.communication.channels = 1;
  request.communication.slot_size = slot;
  request.communication.slots = slots;
  return request;
}

TEST(RunObservation, ChangesNothing) {
  std::vector<PredictionRequest> requests{contended(), two_ideal_ranks(1_MiB, 64_KiB, 1)};
  requests.push_back(contended());
  requests.back().communication.algorithm = Algorithm::kDoubleBinaryTree;
  requests.push_back(contended());
  requests.back().workload.collective = Collective::kAllToAll;
  requests.back().communication.queue_pairs = 2;
  for (const PredictionRequest& request : requests) {
    Onlooker onlooker;
    expect_same(observed(request, onlooker), in_full(request));
    EXPECT_TRUE(onlooker.finished);
  }
}

// A ring of two: each sends chunk after chunk to the other, n = 2 chunks in 2 (n - 1) = 2 steps.
// A slice of 64 KiB over 50 GB/s and 1 us takes 1310.72 + 1000 ns, and leaves at once.
TEST(RunObservation, TellsTheTimesOfTheClosedForm) {
  Onlooker onlooker;
  observed(two_ideal_ranks(128_KiB, 64_KiB, 8), onlooker);
  ASSERT_EQ(onlooker.transfers.size(), 4U);
  const ObservedTransfer& first = onlooker.transfers.front();
  constexpr std::int64_t kFlight = 1'310'720 + 1'000'000;
  EXPECT_EQ(first.ready, 0);
  EXPECT_EQ(first.posted, 0);
  EXPECT_EQ(first.left, 0);
  EXPECT_EQ(first.landed, kFlight);
  EXPECT_EQ(first.arrived, kFlight);
  EXPECT_EQ(first.bytes, 64_KiB);
  EXPECT_EQ(first.place.step, 0);
  EXPECT_EQ(onlooker.transfers.back().place.step, 1);
  EXPECT_EQ(onlooker.transfers.back().arrived, 2 * kFlight);
  // Rank r begins with its own chunk, r or its opposite; both are there.
  std::set<std::int64_t> chunks;
  for (const ObservedTransfer& transfer : onlooker.transfers) chunks.insert(transfer.place.chunk);
  EXPECT_THAT(chunks, ElementsAre(0, 1));
  EXPECT_EQ(onlooker.end, 2 * kFlight);
}

// However many peers an item has room for, what goes to all of them is one step of the schedule: a
// parameter server takes one in and hands one out, and the same slices either way.
TEST(RunObservation, TellsStepsAndSlicesOfASliceWithManyPeers) {
  PredictionRequest request = request_for(ideal_cluster(9), 256_KiB);
  request.communication.channels = 1;
  request.communication.slot_size = 64_KiB;
  request.communication.algorithm = Algorithm::kParameterServer;
  Onlooker onlooker;
  observed(request, onlooker);
  ASSERT_EQ(onlooker.transfers.size(), 2U * 8 * 4);
  std::map<std::int64_t, int> by_slice;
  for (const ObservedTransfer& transfer : onlooker.transfers) {
    EXPECT_EQ(transfer.place.step, 0);
    EXPECT_EQ(transfer.place.chunk, 0);
    ++by_slice[transfer.place.slice];
  }
  EXPECT_THAT(by_slice, ElementsAre(Pair(0, 16), Pair(1, 16), Pair(2, 16), Pair(3, 16)));
}

// With one slot the second slice waits until the first has been reduced, and its slot comes back at
// once in the ideal network.
TEST(RunObservation, TellsWhatWaitsForASlot) {
  Onlooker onlooker;
  observed(two_ideal_ranks(256_KiB, 64_KiB, 1), onlooker);
  const auto second = std::find_if(
      onlooker.transfers.begin(), onlooker.transfers.end(),
      [](const ObservedTransfer& seen) { return seen.place.step == 0 && seen.place.slice == 1; });
  ASSERT_NE(second, onlooker.transfers.end());
  EXPECT_EQ(second->ready, 0);
  EXPECT_EQ(second->posted, 1'310'720 + 1'000'000);
}

TEST(RunObservation, TellsOfEachSliceOnceAndInOrder) {
  Onlooker onlooker;
  const PredictionRequest request = contended();
  observed(request, onlooker);
  std::map<ConnectionKey, std::int64_t> writes;
  std::map<Rank, std::int64_t> sent;
  for (const ObservedTransfer& seen : onlooker.transfers) {
    EXPECT_LE(seen.ready, seen.posted);
    EXPECT_LE(seen.posted, seen.left);
    EXPECT_LT(seen.left, seen.landing);
    EXPECT_LE(seen.landing, seen.landed);
    EXPECT_LE(seen.landed, seen.arrived);
    EXPECT_LT(seen.posted, seen.done);
    ++writes[seen.connection];
    sent[seen.connection.source] += seen.bytes.count;
  }
  // Of 1'000'002 bytes in 6 chunks, each rank sends 2 x 5 and keeps the rest, in two channels whose
  // remainders differ by an element or two.
  for (const auto& [rank, bytes] : sent) EXPECT_NEAR(double(bytes), 1'000'002.0 * 10 / 6, 40);
  EXPECT_EQ(sent.size(), 6U);
  // Each write is of a number of its own, and is read by one operation.
  std::map<ConnectionKey, std::set<std::int64_t>> read;
  std::int64_t reduced = 0;
  for (const ObservedOperation& seen : onlooker.operations) {
    EXPECT_LE(seen.asked, seen.start);
    EXPECT_LT(seen.start, seen.end);
    if (!seen.receives) continue;
    EXPECT_EQ(seen.connection.destination, seen.rank);
    EXPECT_TRUE(read[seen.connection].insert(seen.sequence).second);
    if (seen.reduces) reduced += seen.bytes.count;
  }
  for (const auto& [connection, count] : writes) {
    EXPECT_EQ(std::int64_t(read[connection].size()), count);
  }
  // 5 of 6 chunks are reduced at each of 6 ranks.
  EXPECT_NEAR(double(reduced), 1'000'002.0 * 5, 200);
}

TEST(RunObservation, LinksAreAsBusyAsTheyAreReported) {
  Onlooker onlooker;
  const Prediction prediction = observed(contended(), onlooker);
  int compared = 0;
  for (const ResourceUse& use : prediction.resources) {
    if (use.kind == "reduce" || use.kind == "memory" || use.kind == "socket_link") continue;
    std::int64_t most = 0;
    for (const char* end : {".up", ".down", ".out", ".in"}) {
      most = std::max(most, onlooker.busy(use.name + end));
    }
    if (most == 0) continue;
    ++compared;
    // What a link still sends when the last rank is done is not counted as its use.
    EXPECT_NEAR(double(most) / double(onlooker.end), use.utilisation, 1e-3) << use.name;
  }
  EXPECT_GE(compared, 6);
  for (const auto& [link, left] : onlooker.queued) EXPECT_EQ(left, 0) << link;
}

TEST(RunObservation, PausesAndStallsAddUpToTheCounters) {
  PredictionRequest request = contended();
  const auto sum = [](const std::map<std::int32_t, std::int64_t>& of) {
    std::int64_t total = 0;
    for (const auto& [link, ps] : of) total += ps;
    return total;
  };
  const auto network_stalls = [](const Onlooker& onlooker) {
    std::int64_t total = 0;
    for (const auto& [link, ps] : onlooker.stalled) {
      const ObservedLink& seen = onlooker.layout.links[static_cast<std::size_t>(link)];
      if (!seen.port.empty()) total += ps;
    }
    return total;
  };
  // Buffers of two packets: credits lack.
  request.cluster.network.vl_buffer = packet_buffer(request.cluster.network.mtu) * 2;
  Onlooker credits;
  Prediction prediction = observed(request, credits);
  std::int64_t counted = 0;
  for (const PortCounters& port : prediction.counters) counted += port.out_of_credits.ps;
  EXPECT_GT(counted, 0);
  EXPECT_EQ(network_stalls(credits), counted);
  EXPECT_EQ(sum(credits.paused), 0);

  request.cluster.network.kind = NetworkKind::kRoce;
  request.cluster.network.pause.xoff = {8'000};
  request.cluster.network.pause.xon = {4'000};
  request.cluster.network.pause.response = 1_us;
  Onlooker pauses;
  prediction = observed(request, pauses);
  counted = 0;
  for (const PortCounters& port : prediction.counters) counted += port.pfc_paused.ps;
  EXPECT_GT(counted, 0);
  EXPECT_EQ(sum(pauses.paused), counted);
}

}  // namespace
}  // namespace gradhaul

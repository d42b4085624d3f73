#include "sim/world_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "core/busbw.h"
#include "core/port_trouble.h"
#include "sim/predict.h"
#include "tests/sim/cluster_examples.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

Cluster pair_with_latencies() {
  Cluster cluster = bare_pair(5, 400_Gbps, {4096});
  give_latencies(cluster.node);
  return cluster;
}

PredictionRequest one_channel(const Cluster& cluster, Bytes size) {
  PredictionRequest request = request_for(cluster, size);
  request.communication.channels = 1;
  return request;
}

const ResourceUse& use_of(const Prediction& prediction, const std::string& name) {
  for (const ResourceUse& use : prediction.resources) {
    if (use.name == name) return use;
  }
  ADD_FAILURE() << "no resource " << name;
  return prediction.resources.front();
}

TEST(TimeParts, AddUpToTheTimeAndComeLargestFirst) {
  std::vector<PredictionRequest> requests;
  for (const std::int64_t size : {2, 100'000, 5'000'000}) {
    requests.push_back(one_channel(pair_with_latencies(), {size}));
    requests.push_back(request_for(one_switch(hgx_h100(), 2, 400_Gbps), {size}));
    requests.push_back(request_for(ideal_cluster(5), {size}));
    Node shared = dgx_a100();
    shared.nvlink.reset();
    requests.push_back(request_for(one_switch(shared, 2, 200_Gbps), {size}));
    requests.back().communication.queue_pairs = 2;
    requests.push_back(requests.front());
    requests.back().workload.collective = Collective::kAllToAll;
    requests.push_back(requests.front());
    requests.back().communication.algorithm = Algorithm::kDoubleBinaryTree;
  }
  for (const PredictionRequest& request : requests) {
    const ResultRow row = predict(request).rows.at(0);
    Duration sum;
    Duration last{INT64_MAX};
    for (const TimePart& part : row.parts) {
      EXPECT_GT(part.time.ps, 0);
      EXPECT_LE(part.time, last);
      EXPECT_FALSE(part.cause.empty());
      sum += part.time;
      last = part.time;
    }
    EXPECT_EQ(sum, row.time);
  }
}

// A kernel launch and two steps of one write each, whose stages are known: no part is put down to
// something else.
TEST(TimeParts, OfATinyMessageAreItsStages) {
  Cluster cluster = pair_with_latencies();
  const ResultRow row = predict(one_channel(cluster, {4})).rows.at(0);
  std::map<std::string, std::int64_t> by_cause;
  for (const TimePart& part : row.parts) by_cause[part.cause] += part.time.ps;
  EXPECT_EQ(by_cause["kernel launch"], 4'000'000);
  EXPECT_EQ(by_cause["kernel and host flags"], 2 * 2 * 500'000);
  EXPECT_EQ(by_cause["post and doorbell"], 2 * (75'000 + 203'000 + 351'000));
  EXPECT_EQ(by_cause["completion"], 2 * 227'000);
  EXPECT_EQ(by_cause["slot credits"], 0);
  EXPECT_EQ(by_cause["credits"], 0);
  // Three passes of PCIe, transmit, cable of 3 m, receive, the GPU's reads and writes.
  EXPECT_EQ(by_cause["latency"],
            2 * (3 * 145'000 + 199'000 + 15'152 + 211'000 + 700'000 + 150'000));
}

TEST(LimitedBy, LatencyForATinyMessage) {
  EXPECT_EQ(predict(one_channel(pair_with_latencies(), {4})).rows[0].limited_by, "latency");
}

TEST(LimitedBy, TheNicForALargeOne) {
  EXPECT_EQ(predict(one_channel(pair_with_latencies(), {40'000'000})).rows[0].limited_by,
            "node0.nic0 (2 equal)");
}

// One slot: the next slice waits until the one before is there and its slot comes back.
TEST(LimitedBy, SlotsWhereThereIsOneAndTheMessageIsLarge) {
  PredictionRequest request = one_channel(pair_with_latencies(), {10'000'000});
  request.communication.slots = 1;
  request.communication.slot_size = {64 * 1024};
  const ResultRow few = predict(request).rows[0];
  EXPECT_EQ(few.limited_by, "slots");
  request.communication.slots = 32;
  const ResultRow many = predict(request).rows[0];
  EXPECT_EQ(many.limited_by, "node0.nic0 (2 equal)");
  EXPECT_GT(few.time.ps, 2 * many.time.ps);
}

// One channel's kernel reduces 10 GB/s, where the NIC carries 49.7.
TEST(LimitedBy, KernelsWhereChannelsAreTooFew) {
  PredictionRequest request = one_channel(pair_with_latencies(), {20'000'000});
  request.cluster.node.gpu.reduce_bandwidth = 10_GBps;
  const ResultRow one = predict(request).rows[0];
  EXPECT_EQ(one.limited_by, "node0.gpu0.reduce (2 equal)");
  // A reduction and a copy of half the message each: no quicker than those.
  EXPECT_GE(one.time.ps, 20'000'000 * 100LL);
  EXPECT_LE(one.time.ps, 20'000'000 * 100LL * 11 / 10);
  request.communication.channels = 8;
  EXPECT_EQ(predict(request).rows[0].limited_by, "node0.nic0 (2 equal)");
}

TEST(LimitedBy, MemoryWhereItIsNarrowest) {
  PredictionRequest request = one_channel(pair_with_latencies(), {20'000'000});
  request.cluster.node.gpu.memory_bandwidth = 60_GBps;
  const std::string limited_by = predict(request).rows[0].limited_by;
  EXPECT_THAT(limited_by, testing::StartsWith("node0.gpu0.memory"));
}

TEST(ResourceUses, AreBusyForWhatTheyCarried) {
  const Prediction prediction = predict(one_channel(pair_with_latencies(), {20'000'000}));
  const double time = prediction.rows[0].time.seconds();
  // All-reduce of two: each sends the whole message once, by its NIC and over PCIe.
  const ResourceUse& nic = use_of(prediction, "node0.nic0");
  EXPECT_EQ(nic.kind, "nic");
  EXPECT_EQ(nic.bytes.count, 20'000'000);
  EXPECT_NEAR(nic.utilisation, 20e6 * 4122 / 4096 / 50e9 / time, 1e-3);
  const ResourceUse& pcie = use_of(prediction, "node0.nic0.pcie");
  EXPECT_EQ(pcie.kind, "pcie");
  EXPECT_EQ(pcie.bytes.count, 40'000'000);
  const ResourceUse& memory = use_of(prediction, "node1.gpu0.memory");
  // Sent and received once each; half of it reduced (three passes), half copied (two).
  EXPECT_EQ(memory.bytes.count, 20'000'000 + 20'000'000 + 10'000'000 * 5);
  EXPECT_EQ(use_of(prediction, "node1.gpu0.reduce").bytes.count, 20'000'000);
}

TEST(ResourceUses, StandInTheOrderOfNamesAndBearTheBlameOfThePath) {
  const Prediction prediction = predict(one_channel(pair_with_latencies(), {3'000'000}));
  std::map<std::string, std::int64_t> blame;
  for (const TimePart& part : prediction.rows[0].parts) blame[part.resource] += part.time.ps;
  std::string last;
  for (const ResourceUse& use : prediction.resources) {
    EXPECT_LT(last, use.name);
    last = use.name;
    EXPECT_EQ(use.blame.ps, blame.contains(use.name) ? blame[use.name] : 0) << use.name;
    EXPECT_LE(use.utilisation, 1);
  }
}

// Four senders into one receiver's wire wait for its credits; a pair in peace does not.
TEST(PortCounters, ShowWhereCreditsWereMissing) {
  for (const PortCounters& port :
       predict(one_channel(pair_with_latencies(), {3'000'000})).counters) {
    EXPECT_FALSE(counts_trouble(port)) << port.port;
  }
  Cluster cluster = one_switch(bare_node(1, 3), 2, 400_Gbps);
  give_latencies(cluster.node);
  // PCIe 3 takes 14 GB/s of what the wire brings: backs up into the switch and to the sender... if
  // the sender could send more than that. It reads at 14.2 GB/s, too.
  cluster.node.nic.pcie = PcieLink{3, 8};
  cluster.node.gpu.pcie = PcieLink{5, 16};
  const Prediction prediction = predict(one_channel(cluster, {8'000'000}));
  for (const PortCounters& port : prediction.counters) {
    EXPECT_EQ(port.xmit_wait, port.out_of_credits);
    EXPECT_GT(port.xmit_wait.ps, 0);
    EXPECT_EQ(port.dropped + port.retransmitted + port.pfc_pause_frames + port.cnp, 0);
  }
  EXPECT_THAT(prediction.counters,
              testing::Contains(testing::Field(&PortCounters::port, "leaf0:1")));
}

}  // namespace
}  // namespace gradhaul

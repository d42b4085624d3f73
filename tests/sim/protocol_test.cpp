// LL and LL128: what they put on the wire, and what they save.

#include "core/protocol.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/hop_latency.h"
#include "sim/predict.h"
#include "tests/sim/cluster_examples.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

// One GPU and one NIC a node.
PredictionRequest ring_of(int nodes, Protocol protocol, Bytes size) {
  PredictionRequest request = request_for(paired_cluster(nodes, 1), size);
  request.communication = with_protocol(request.communication, protocol);
  request.communication.channels = 1;
  return request;
}

std::int64_t bytes_of(const Prediction& prediction, const std::string& name) {
  for (const ResourceUse& use : prediction.resources) {
    if (use.name == name) return use.bytes.count;
  }
  return -1;
}

TEST(Lines, HoldFourOfEightAndHundredTwentyOfHundredTwentyEight) {
  EXPECT_EQ(with_flags(Protocol::kSimple, Bytes{1001}).count, 1001);
  EXPECT_EQ(with_flags(Protocol::kLl, Bytes{1000}).count, 2000);
  EXPECT_EQ(with_flags(Protocol::kLl, Bytes{1001}).count, 2008);
  EXPECT_EQ(with_flags(Protocol::kLl128, Bytes{1200}).count, 1280);
  EXPECT_EQ(with_flags(Protocol::kLl128, Bytes{1201}).count, 1408);
  // NCCL's buffers, a step of each: 512 KiB / 8 and 4,915,200 B / 8.
  EXPECT_EQ(with_flags(Protocol::kLl, usual_slot_size(Protocol::kLl)).count, 65'536);
  EXPECT_EQ(with_flags(Protocol::kLl128, usual_slot_size(Protocol::kLl128)).count, 614'400);
}

// A ring of two sends its message once, and receives it once.
TEST(Protocols, PutTheirLinesOnTheWire) {
  const Bytes size{2 * 5 * 576'000};
  for (const Fidelity fidelity : {Fidelity::kPacket, Fidelity::kFlow, Fidelity::kAnalytic}) {
    for (const auto& [protocol, wire] : {std::pair{Protocol::kSimple, 2 * size.count},
                                         {Protocol::kLl, 4 * size.count},
                                         {Protocol::kLl128, 2 * size.count * 128 / 120}}) {
      PredictionRequest request = ring_of(2, protocol, size);
      request.fidelity = fidelity;
      const Prediction prediction = predict(request);
      EXPECT_EQ(bytes_of(prediction, "node0.nic0"), wire);
      EXPECT_EQ(prediction.rows.at(0).bytes_sent_per_rank.count, size.count);
      EXPECT_EQ(prediction.rows.at(0).protocol, protocol_name(protocol));
    }
  }
}

// The same bytes on the wire, kernels included: LL with half the data saves, in each of two steps,
// the completion and the flag by which the receiver's kernel learns of it.
TEST(Protocols, OfFlagsAmongDataWaitForNoCompletion) {
  const auto time = [](Protocol protocol, Bytes size) {
    return predict(ring_of(2, protocol, size)).rows.at(0).time.ps;
  };
  EXPECT_EQ(time(Protocol::kSimple, 16_B) - time(Protocol::kLl, 8_B), 2 * (227'000 + 500'000));
  EXPECT_EQ(time(Protocol::kSimple, Bytes{256}) - time(Protocol::kLl128, Bytes{240}),
            2 * (227'000 + 500'000));
}

// Launch, and twice a hop and what takes it in: a reduction, then a copy.
TEST(Protocols, TakeWhatTheirHopsTake) {
  for (const Protocol protocol : {Protocol::kSimple, Protocol::kLl, Protocol::kLl128}) {
    for (const Bytes size : {480_B, Bytes{48'000}}) {
      const PredictionRequest request = ring_of(2, protocol, size);
      const Bytes chunk{size.count / 2};
      Cluster cluster = request.cluster;
      cluster.network.topology.leaves = 1;
      const Fabric fabric(cluster);
      HopLatency latency(fabric, 1, protocol);
      const Hop hop{.source = 0, .destination = 1, .source_nic = 0, .destination_nic = 0};
      const Duration expected = cluster.node.gpu.kernel_launch +
                                latency.message(hop, chunk).arrived * 2 +
                                latency.kernel(0, ReduceKind::kReduce, chunk) +
                                latency.kernel(0, ReduceKind::kCopy, chunk);
      EXPECT_EQ(predict(request).rows.at(0).time.ps, expected.ps) << protocol_name(protocol);
    }
  }
}

// Twice the bytes against a shorter way: where LL wins it wins for small messages, and only there.
TEST(Protocols, CrossOnce) {
  PredictionRequest request = ring_of(4, Protocol::kSimple, 1_KiB);
  request.communication.choose_protocol = true;
  request.workload.sizes.clear();
  for (Bytes size = 1_KiB; size <= 16_MiB; size = size * 4) request.workload.sizes.push_back(size);
  const Prediction chosen = predict(request);
  ASSERT_EQ(chosen.rows.size(), request.workload.sizes.size());
  EXPECT_NE(chosen.rows.front().protocol, "simple");
  EXPECT_EQ(chosen.rows.back().protocol, "simple");
  bool simple = false;
  for (const ResultRow& row : chosen.rows) {
    ASSERT_EQ(row.weighed.size(), 3U);
    simple = simple || row.protocol == "simple";
    EXPECT_EQ(row.protocol == "simple", simple) << row.size.count;
  }
  // And what was chosen is what it is by itself.
  for (const std::size_t i : {std::size_t{0}, chosen.rows.size() - 1}) {
    const Protocol protocol =
        i == 0 ? (chosen.rows[0].protocol == "ll" ? Protocol::kLl : Protocol::kLl128)
               : Protocol::kSimple;
    const Prediction alone = predict(ring_of(4, protocol, chosen.rows[i].size));
    EXPECT_EQ(alone.rows.at(0).time.ps, chosen.rows[i].time.ps);
  }
}

// Skipping stays exact, and the cheap fidelities within what they say of themselves.
TEST(Protocols, KeepTheFidelitiesTogether) {
  for (const Protocol protocol : {Protocol::kLl, Protocol::kLl128}) {
    PredictionRequest request = ring_of(4, protocol, 2_MiB);
    const Duration packet = predict(request).rows.at(0).time;
    request.skip_recurrences = false;
    EXPECT_EQ(predict(request).rows.at(0).time.ps, packet.ps);
    request.skip_recurrences = true;
    for (const Fidelity fidelity : {Fidelity::kFlow, Fidelity::kAnalytic}) {
      request.fidelity = fidelity;
      const Prediction cheap = predict(request);
      ASSERT_TRUE(cheap.error_bound);
      EXPECT_LE(std::abs((cheap.rows.at(0).time - packet).ps), cheap.error_bound->ps);
    }
  }
}

}  // namespace
}  // namespace gradhaul
